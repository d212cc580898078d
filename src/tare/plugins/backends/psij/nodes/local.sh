# No batch system: PSI/J knows the job by the process that started this script.
job_id=$PPID
node_names=("$(uname -n)")
start_on() {
  return 1 # there is no other node
}
