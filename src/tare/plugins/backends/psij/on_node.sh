# Shared by all systems. Their own part, above, sets job_id and node_names, whose first node runs this script. It
# defines start_on NODE COMMAND…, which need not pass on input, output, environment or working directory.
allocated=("${node_names[@]}")
job_nodes=$(IFS=, && echo "${node_names[*]}")
node0=${node_names[0]} this_node=${node_names[0]}

follow() { # follow CALL SECONDS: print CALL.in as it grows, until CALL.end is there or the time is over
  local -i i at=0 size is_over=0
  for ((i = 0; i < $2 && !is_over; i++)); do
    ((i == 0)) || sleep 1
    [ ! -e "$1.end" ] || is_over=1
    size=$(stat -c %s -- "$1.in") || return
    tail -c +$((at + 1)) -- "$1.in" | head -c $((size - at))
    at=$size
  done
}

on_node() { # on_node NODE COMMAND…: run a command there; its streams go through files that the nodes share
  local node=$1 code call=$PWD/.call.$BASHPID.$1
  shift
  if [ "$node" = "$this_node" ]; then
    "$@"
    return
  fi
  {
    printf 'cd -- %q || exit\n' "$PWD"
    printf 'exec >>%q 2>>%q\n' "$(readlink "/proc/$BASHPID/fd/3")" "$(readlink "/proc/$BASHPID/fd/2")"
    if [ "$(readlink "/proc/$BASHPID/fd/0")" = /dev/null ]; then
      printf '%q ' "$@"
      printf '</dev/null\n'
    else # it ends when the input does, or with the job's time
      declare -f follow
      printf 'follow %q %d | ' "$call" "$job_seconds"
      printf '%q ' "$@"
      printf '\n'
    fi
  } 3>&1 >"$call.sh"
  : >"$call.in"
  if [ "$(readlink "/proc/$BASHPID/fd/0")" != /dev/null ]; then
    { cat >"$call.in"; : >"$call.end"; } <&0 &
  fi
  start_on "$node" /bin/bash "$call.sh" </dev/null >/dev/null
  code=$?
  rm -f -- "$call".{sh,in,end}
  return "$code"
}

is_recorded() { # is_recorded FOLDER: is this the job that Tare has recorded there, and its first start?
  # A job whose number was lost when Tare was killed ends here, as does a job that its system started again.
  local i
  for ((i = 0; i < 600; i++)); do
    [ ! -s "$1/job" ] || break
    sleep 0.1
  done
  if [ "$(cat -- "$1/job")" != "$job_id" ]; then
    echo "tare: this is job $job_id, and $1/job names another job, so nothing is run" >&2
    return 1
  fi
  (set -C && : >"$1/job.begun") 2>/dev/null
}
