# Bind a rank to CPUs of its node if several nodes share one machine, then become the program. MPIs that bind by
# themselves take the first cores of the machine, the same ones for every node. FILE has a line for each node: its
# host, then its CPUs. RANKS is how many ranks a node has, CPUS how many CPUs a rank gets; 0 means all of its node.
# Arguments: FILE RANKS CPUS PROGRAM ARGUMENTS…
list() { # list FIRST COUNT CPU…: print COUNT of the CPUs after the FIRST ones, with commas between
  local first=$1 end=$(($1 + $2)) i=0 cpu found=''
  shift 2
  for cpu; do
    [ "$i" -lt "$first" ] || [ "$i" -ge "$end" ] || found=${found:+$found,}$cpu
    i=$((i + 1))
  done
  printf %s "$found"
}
bind() {
  local rank local_rank host name cpus own='' i=0
  find_rank
  rank=${rank:-0}
  local_rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-$((rank % $2))}}
  read -r host </proc/sys/kernel/hostname
  while read -r name cpus; do # containers have host names of their own; their ranks fill the nodes in order
    [ "$name" != "$host" ] || own=$cpus
    [ -n "$own" ] || [ "$i" != $((rank / $2)) ] || own=$cpus
    i=$((i + 1))
  done <"$1"
  # shellcheck disable=SC2086 # the CPUs are words
  if [ "$3" -gt 0 ]; then own=$(list $((local_rank * $3)) "$3" $own); else own=$(list 0 9999 $own); fi
  taskset -pc "$own" $$ # util-linux
}
bind "$1" "$2" "$3" >/dev/null 2>&1 # if this fails, the placement probe reports that the rank is not bound
shift 3
exec "$@"
