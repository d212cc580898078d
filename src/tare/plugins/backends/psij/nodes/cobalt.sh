# Cobalt has no command of its own that starts a task on a node of the job.
job_id=$COBALT_JOBID
mapfile -t node_names < <(awk 'NF && !seen[$1]++ { print $1 }' "$COBALT_NODEFILE")
start_on() {
  ssh -n -o BatchMode=yes "$1" "$(printf '%q ' "${@:2}")"
}
