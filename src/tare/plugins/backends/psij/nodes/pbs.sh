# PBS Professional and OpenPBS: the node file names a node once for each of its slots; pbs_tmrsh(8B) starts a task
# through the job's own daemons, and passes neither its input nor its output on.
job_id=$PBS_JOBID
mapfile -t node_names < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")
start_on() {
  pbs_tmrsh "$@"
}
