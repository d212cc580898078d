# LSF: the host file names a host once for each of its slots; LSB_MCPU_HOSTS is "hostA 4 hostB 4", and LSB_HOSTS
# "hostA hostA hostB", which LSF leaves out when it grows too long. blaunch(1) starts a task through LSF.
job_id=$LSB_JOBID
lsf_hosts() {
  if [ -r "${LSB_DJOB_HOSTFILE-}" ]; then
    cat -- "$LSB_DJOB_HOSTFILE"
  elif [ -n "${LSB_MCPU_HOSTS-}" ]; then
    printf '%s\n' "$LSB_MCPU_HOSTS" | awk '{ for (i = 1; i < NF; i += 2) print $i }'
  else
    printf '%s\n' ${LSB_HOSTS-}
  fi
}
mapfile -t node_names < <(lsf_hosts | awk 'NF && !seen[$1]++ { print $1 }')
start_on() {
  blaunch -n "$@"
}
