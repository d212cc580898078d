# Flux: this script is the initial program of an instance that has a broker on each node of the job, as that of
# flux-batch(1) is; the order of its host list is that of its ranks (flux-broker-attributes(7)).
job_id=$(flux job id --to=dec "$(flux getattr jobid)")
mapfile -t node_names < <(flux hostlist --expand --delimiter=$'\n' "$(flux getattr hostlist)")
start_on() {
  local rank
  for rank in "${!node_names[@]}"; do
    [ "${node_names[rank]}" != "$1" ] || break
  done
  flux exec --noinput --rank="$rank" "${@:2}"
}
