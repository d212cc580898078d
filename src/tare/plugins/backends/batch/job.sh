# What each task of this job goes through. A task's folder lies on a file system that the nodes share; in it,
# 'progress' tells which steps have ended, and becomes 'landed' when the task is over.
# The batch system's own part, above, sets job_id, job_nodes, node0 (the first node) and this_node (the one that
# runs this script), and defines on_each [--output=FILE] [--error=FILE] [--input=all] COMMAND…: it runs a command
# once on each of the task's first $nodes nodes, beside what else runs there, and becomes it, as srun does; %N in a
# FILE is the node's name. Where it sets node_names, an array, MPIs find the nodes in the task's file 'hostfile'.

clock() { # set 'now': seconds since the epoch, and since the node started, which nobody sets; bash has the former from 5 on
  local up
  read -r up _ </proc/uptime
  now="${EPOCHREALTIME-$(date +%s.%N)} $up"
}

probe() { # probe NAME SCRIPT: keep what a script prints on each node as NAME.<node>, to be told apart by node
  (on_each --output="$1.%N" sh -c "$2") </dev/null
}

await() { # await FILES PID: wait until each node has written one, no longer than a run is worth: it goes on without
  local i
  for ((i = 0; i < 50; i++)); do
    [ "$(find . -maxdepth 1 -name "$1" -size +0 | wc -l)" -ge "$nodes" ] && break
    kill -0 "$2" 2>/dev/null || break
    sleep 0.1
  done
}

watch() { # watch SAMPLER PERIOD: sample each node until 'unwatch'; the end of its input is the sampler's own
  coproc sampler {
    on_each --input=all --output=/dev/null --error=telemetry.errors python3 -I -S "$1"
  } 2>/dev/null
  sampler_pid=$!
  printf '["begin","%s/telemetry.{node}.jsonl","%s"]\n' "$PWD" "$2" >&"${sampler[1]-1}" 2>/dev/null
  await 'telemetry.*.jsonl' "$sampler_pid"
}

count() { # count COUNTER INTERFACE: count packets on each node until 'unwatch'
  {
    coproc counter {
      on_each --input=all --output=packets.%N.txt --error=packets.%N.txt python3 -I -S "$@"
    } 2>/dev/null
  } 2>/dev/null # bash warns of a second coproc, and keeps both
  counter_pid=$!
  await 'packets.*.txt' "$counter_pid"
}

unwatch() {
  {
    [ -z "${sampler[1]-}" ] || exec {sampler[1]}>&-
    [ -z "${counter[1]-}" ] || exec {counter[1]}>&-
    [ -z "${sampler_pid-}${counter_pid-}" ] || wait ${sampler_pid-} ${counter_pid-}
  } 2>/dev/null
  sampler_pid= counter_pid=
  [ -s telemetry.errors ] || rm -f telemetry.errors
}

make_own_folder() { # make_own_folder FOLDER MODE STDERR [keep]: make the task's own folder on the storage path, on each node that lacks it
  clock
  local begun=$now
  if mkdir -m "$2" -- "$1" 2>"$3"; then
    [ "${4-}" = keep ] || { own_folder=$1 && printf '%s\n' "$1" >storage.left; }
    trap remove_own_folder EXIT # the job may be cancelled meanwhile
    [ "$nodes" = 1 ] && return
    (on_each sh -c "$is_ours"' || mkdir -m "$2" -- "$1"' own "$1" "$2") </dev/null 2>>"$3" && return
  fi
  clock
  printf 'step storage 1 %s %s\n' "$begun" "$now" >>progress
  failed=1
  return 1
}

is_ours='[ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]'

remove_own_folder() { # remove it again: it is this user's, and no link
  [ -n "${own_folder-}" ] || return 0
  local removal="if $is_ours;"' then rm -rf --one-file-system -- "$1"; fi'
  sh -c "$removal" disown "$own_folder"
  [ "$nodes" = 1 ] || (on_each sh -c "$removal" disown "$own_folder") </dev/null
  [ -e "$own_folder" ] || rm -f storage.left
  own_folder=
} 2>/dev/null

task() { # task FOLDER NODES SECONDS: begin a task
  cd "$1" || return
  nodes=$2
  clock
  printf 'job %s %s\nbegan %s\n' "$job_id" "$job_nodes" "$now" >progress || return
  [ -z "${node_names-}" ] || printf '%s\n' "${node_names[@]:0:nodes}" >hostfile
  task_up=${now##* } failed=
  probe before "$counters"$'\n'"$facts"
  deadline=$((SECONDS + $3))
}

step() { # step NAME STDOUT STDERR COMMAND…: run a program in what is left of the task's time
  # In its words, {node0} is the first node: other nodes reach it by an address that is made of its name.
  local name=$1 out=$2 err=$3 left=$((deadline - SECONDS)) code begun
  shift 3
  clock
  begun=$now
  TARE_TASK=$task_name timeout --kill-after=10 "$((left > 0 ? left : 1))" "${@//'{node0}'/$node0}" >"$out" 2>"$err" </dev/null
  code=$?
  exit_if_recorded
  clock
  printf 'step %s %s %s %s\n' "$name" "$code" "$begun" "$now" >>progress
  [ "$code" = 0 ] || failed=1
  return "$code"
}

exit_if_recorded() { # a job may outlive the daemon that runs it: its run is on record by then, with its evidence
  [ ! -e SHA256SUMS ] || exit 0
}

# 'sweep' ends what the steps of a task, that 'of_task' names, left on a node; 'storage_check' tries whether its storage takes files.
finish() { # the start on each node may say 0 of a step that died with its node; but then no other step starts
  exit_if_recorded
  unwatch
  clock
  local up=${now##* }
  local leftovers="since=$((10#${up/./} - 10#${task_up/./})); $of_task; ($sweep) | tr -d '\\036'"
  probe after "$counters"$'\n'"printf '\\036left\\036'; $leftovers"
  local probed=$?
  remove_own_folder
  [ -z "$failed" ] || [ -z "$storage_check" ] || probe room "$storage_check"
  [ "$probed" = 0 ] && [ -e "after.$this_node" ] && mv progress landed
}
