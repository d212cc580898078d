# Said by each rank before it becomes the program, in builtins of the shell alone: where it is, who it is, and
# what it may run on. The process stays the same, so does its binding. ASKED is 'all', or how many ranks there are to
# one whose libraries are asked, and the variables that the others lose. Arguments: FOLDER ASKED PROGRAM WORDS…
boost() { # boost TRIES: let the session go before others on its node, or wait until somebody does that for it
  local try=0
  while { read -r priority </proc/self/autogroup; } 2>/dev/null; do
    [ "${priority##* }" != -20 ] && [ "$try" -lt "$1" ] || return
    { echo -20 >/proc/self/autogroup; } 2>/dev/null || { try=$((try + 1)) && [ "$try" -lt "$1" ] && sleep 0.1; }
  done
}
say() {
  local rank size host boot='' key value cpus='' cpu socket
  find_rank
  size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}
  { read -r host </proc/sys/kernel/hostname; } 2>/dev/null
  {
    printf 'autogroup %s\n' "${priority##* }"
    printf 'host %s\nnode %s\nrank %s\nsize %s\n' "$host" "$TARE_NODE" "$rank" "$size"
    printf 'threads %s\n' "$OMP_NUM_THREADS"
    read -r boot </proc/sys/kernel/random/boot_id # the same of all that share a kernel (random(4))
    printf 'boot %s\n' "$boot"
    while read -r key value; do
      case $key in Cpus_allowed_list: | Mems_allowed_list:) printf '%s %s\n' "$key" "$value" ;; esac
      case $key in Cpus_allowed_list:) cpus=$value ;; esac
    done </proc/self/status
    printf sockets
    local IFS=,- # a list such as 0-3,8 becomes the first and the last of each range
    for cpu in $cpus; do
      read -r socket <"/sys/devices/system/cpu/cpu$cpu/topology/physical_package_id" && printf ' %s' "$socket"
    done
  } 2>/dev/null >"$1/$rank.$host.$$"
  IFS=' '
  [ "$2" = all ] || [ $((${rank:-0} % ${2%% *})) = 0 ] || unset ${2#* }
}
tries=0 priority=
[ ! -e "$1/boost" ] || read -r tries <"$1/boost"
boost "$tries"
say "$1" "$2"
shift 2
exec "$@"
