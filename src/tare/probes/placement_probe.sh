# Each rank runs this before its program: it writes its host, its rank number and its CPUs to FOLDER. It uses only
# builtins of the shell, and becomes the program in the same process, so that the binding stays. REPORTERS is 'all', or
# a number and variables: one rank in so many keeps these variables, which ask its libraries to report their transport.
# Arguments: FOLDER REPORTERS PROGRAM ARGUMENTS…
boost() { # boost TRIES: raise the priority of the session on its node, or wait until another process does so
  local try=0
  while { read -r priority </proc/self/autogroup; } 2>/dev/null; do
    [ "${priority##* }" != -20 ] && [ "$try" -lt "$1" ] || return
    { echo -20 >/proc/self/autogroup; } 2>/dev/null || { try=$((try + 1)) && [ "$try" -lt "$1" ] && sleep 0.1; }
  done
}
report_placement() { # report_placement FOLDER REPORTERS
  local rank size host boot='' key value cpus='' cpu socket
  find_rank
  size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}
  { read -r host </proc/sys/kernel/hostname; } 2>/dev/null
  {
    printf 'autogroup %s\n' "${priority##* }"
    printf 'host %s\nnode %s\nrank %s\nsize %s\n' "$host" "$TARE_NODE" "$rank" "$size"
    printf 'threads %s\n' "$OMP_NUM_THREADS"
    read -r boot </proc/sys/kernel/random/boot_id # one for each running kernel (random(4))
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
report_placement "$1" "$2"
shift 2
exec "$@"
