# on_each, for batch systems without a command such as srun. The batch system's own part, above, sets the array
# node_names to the job's nodes, and defines on_node NODE COMMAND…, which runs a command there with the same
# standard streams.
on_each() { # on_each [--output=FILE] [--error=FILE] [--input=all] COMMAND…; called in a shell of its own
  local out='' err='' feeds=() pids=() feed node pid code=0
  local -i is_fed=0
  while [[ $1 == --* ]]; do
    case $1 in
      --output=*) out=${1#*=} ;;
      --error=*) err=${1#*=} ;;
      --input=all) is_fed=1 ;;
    esac
    shift
  done
  for node in "${node_names[@]:0:nodes}"; do
    feed=/dev/null
    if ((is_fed)); then
      feed=$PWD/.feed.$BASHPID.$node
      mkfifo -m 600 "$feed" || return
      feeds+=("$feed")
    fi
    (
      exec <"$feed"
      [ -z "$out" ] || exec >>"${out//%N/$node}"
      if [ -n "$err" ]; then exec 2>>"${err//%N/$node}"; elif [ -n "$out" ]; then exec 2>&1; fi
      on_node "$node" "$@"
    ) &
    pids+=($!)
  done
  if ((is_fed)); then tee --output-error=warn-nopipe -- "${feeds[@]}" >/dev/null && rm -f -- "${feeds[@]}"; fi
  for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
  return "$code"
}
