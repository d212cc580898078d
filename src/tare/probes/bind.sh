# Gives a rank CPUs of its node, where the nodes share one machine, and becomes the program. MPIs that bind by
# themselves take the first cores of the machine, for every node the same ones. FILE has a line for each node: its
# host, then its CPUs. A node has so many RANKS, a rank so many CPUS; 0 are all of its node's.
# Arguments: FILE RANKS CPUS PROGRAM WORDS…
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
  local rank place host name cpus own='' i=0
  find_rank
  rank=${rank:-0}
  place=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-$((rank % $2))}}
  read -r host </proc/sys/kernel/hostname
  while read -r name cpus; do # containers have names of their own; their ranks lie on nodes in order
    [ "$name" != "$host" ] || own=$cpus
    [ -n "$own" ] || [ "$i" != $((rank / $2)) ] || own=$cpus
    i=$((i + 1))
  done <"$1"
  # shellcheck disable=SC2086 # the CPUs are words
  if [ "$3" -gt 0 ]; then own=$(list $((place * $3)) "$3" $own); else own=$(list 0 9999 $own); fi
  taskset -pc "$own" $$ # util-linux
}
bind "$1" "$2" "$3" >/dev/null 2>&1 # where it cannot, the rank says so: it is not bound
shift 3
exec "$@"
