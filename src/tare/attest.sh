# Said by each rank before it becomes the program, in builtins of the shell alone: where it is, who it is, and
# what it may run on. The process stays the same, so does its binding. Arguments: FOLDER PROGRAM WORDS…
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${SLURM_PROCID:-}}}}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}
{ read -r host </proc/sys/kernel/hostname; } 2>/dev/null
{
  printf 'host %s\nrank %s\nsize %s\nthreads %s\n' "$host" "$rank" "$size" "$OMP_NUM_THREADS"
  while read -r key value; do
    case $key in Cpus_allowed_list: | Mems_allowed_list:) printf '%s %s\n' "$key" "$value" ;; esac
  done </proc/self/status
} 2>/dev/null >"$1/$rank.$host.$$"
shift
exec "$@"
