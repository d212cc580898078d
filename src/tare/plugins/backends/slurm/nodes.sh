# A site or a user may set SBATCH_EXPORT=NONE: srun would then start ranks, and MPIs their daemons, without what is set here.
unset SLURM_EXPORT_ENV
job_id=$SLURM_JOB_ID job_nodes=$SLURM_JOB_NODELIST this_node=${SLURMD_NODENAME-}
mapfile -t allocated < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
node0=${allocated[0]-}

# Each node opens its own files: srun's %N is a node's host name, which need not be its name (slurm.conf(5), NodeHostname).
own_files='[ -z "$1" ] || exec >"${1//%N/$SLURMD_NODENAME}"; [ "$1" != "$2" ] || exec 2>&1; shift 2; exec "$@"'

on_each() { # Slurm itself may choose other nodes of the job, if the job has more than the task needs
  local out='' err='' own=()
  while [[ $1 == --* ]]; do
    case $1 in
      --output=*%N*) out=${1#*=} ;;
      --error=*%N*) err=${1#*=} ;;
      *) own+=("$1") ;;
    esac
    shift
  done
  [ -z "$out" ] || set -- bash -c "$own_files" own_files "$out" "$err" "$@"
  exec srun --overlap --nodelist="$(first_nodes "$nodes")" --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --mem=0 --mpi=none ${own[@]+"${own[@]}"} "$@"
}
