set -u
# Run a task in its launcher, or in its only pod: probes, steps, and sending the results. 'progress' in the working folder
# has the steps that have ended, and becomes 'landed' when the task is over.
run=/tare/run work=/tare/work scripts=/tare/scripts

clock() { # set 'now': seconds since the epoch, and since the node started, which nobody sets; bash has the former from 5 on
  local up
  read -r up _ </proc/uptime
  now="${EPOCHREALTIME-$(date +%s.%N)} $up"
}

hosts() { # the workers; none when this pod does it all
  [ -e "$hostfile" ] && sed -n 's/^\([^ :#][^ :]*\).*/\1/p' "$hostfile"
}

on() { # on HOST COMMAND…: run a command in that worker
  local host=$1
  shift
  "${ssh[@]}" "$host" "$(printf '%q ' "$@")" </dev/null
}

probe() { # probe NAME SCRIPT…: keep what scripts print in each pod as NAME.<number>
  local name=$1 number=0 host
  shift
  local all='for one do sh "$one"; done'
  if [ ${#hosts[@]} = 0 ]; then
    sh -c "$all" probe "$@" >"$name.0"
    return
  fi
  for host in "${hosts[@]}"; do
    on "$host" sh -c "$all" probe "$@" >"$name.$number" 2>>"$run/ssh.log" &
    number=$((number + 1))
  done
  wait
}

reach() { # wait for the sshd of each worker, and for the names that the cluster's DNS learns late
  local host patience=$((SECONDS + 120)) message
  for host in "${hosts[@]}"; do
    until message=$(on "$host" true 2>&1); do # nologin(8) prints to stdout
      message=${message##*$'\n'} message=${message//$'\r'/}
      if [ "$SECONDS" -ge "$patience" ] || is_final "$message"; then
        printf 'unreachable %s %s\n' "$host" "${message:0:300}" >>progress
        printf '%s\n' "$message" >&2
        is_unreached=yes
        return 1
      fi
      sleep 1
    done
  done
}

is_final() { # is_final MESSAGE: whether ssh would print it for ever; a sshd that ends may still be there of a run before
  case $1 in
    *'No user exists for uid'* | *'account is currently not available'*) return 0 ;;
    *'Permission denied ('* | *'Host key verification failed'*) [ "$SECONDS" -ge 15 ] ;;
    *) return 1 ;;
  esac
}

beside() { # beside NAME INPUT COMMAND: run a command in each pod, that ends with its input, until 'unwatch'
  local host number=0
  [ -p "$run/watched" ] || { mkfifo "$run/watched" && exec {watched}<>"$run/watched"; }
  for host in "${hosts[@]:-}"; do
    { printf '%s' "$2"; read -r _ <&"$watched"; } |
      if [ -z "$host" ]; then sh -c "$3"; else "${ssh[@]}" "$host" "$3"; fi \
        >"$run/$1.$number" 2>>"$run/$1.errors" &
    watchers+=($!)
    number=$((number + 1))
  done
}

await() { # await NAME LINES: wait until each pod has printed so many; a run goes on without
  local deadline=$((SECONDS + 5)) n_pods=${#hosts[@]}
  until [ "$(cat "$run/$1".[0-9]* 2>/dev/null | wc -l)" -ge $(($2 * (n_pods > 0 ? n_pods : 1))) ] ||
    [ "$SECONDS" -ge "$deadline" ] || [ -s "$run/$1.errors" ]; do sleep 0.1; done
}

watch() { # watch PERIOD: sample each pod
  beside telemetry '["begin","telemetry","'"$1"$'"]\n' "cd $run && exec python3 -I -S $scripts/sampler.py"
  await telemetry 2 # ready, and begun
}

count() { # count INTERFACE: count the packets of each pod
  beside packets '' "exec python3 -I -S $scripts/counter.py $(printf '%q' "$1") 2>&1"
  await packets 1
}

unwatch() { # end what watches, and fetch what it wrote, under the names of its nodes
  local pid host node name number=0
  for pid in "${watchers[@]}"; do echo >&"$watched"; done
  for pid in "${watchers[@]}"; do wait "$pid"; done
  [ ${#watchers[@]} = 0 ] || for host in "${hosts[@]:-}"; do
    node=$(${host:+on "$host"} cat "$run/node")
    ${host:+on "$host"} cat "$run/telemetry" >"telemetry.$node.jsonl" || rm -f "telemetry.$node.jsonl"
    name=packets.$node
    [ ! -e "$name.txt" ] || name+=+$number
    [ ! -e "$run/packets.$number" ] || cat "$run/packets.$number" "$run/packets.errors" >"$name.txt"
    number=$((number + 1))
  done 2>/dev/null
  watchers=()
  [ ! -s "$run/telemetry.errors" ] || cp "$run/telemetry.errors" .
}

task() { # task SECONDS: begin a task
  sh "$scripts/prepare.sh" true
  cd "$work" || exit 125
  mapfile -t hosts < <(hosts)
  clock
  printf 'began %s\n' "$now" >progress || exit 125
  [ -z "${TARE_ADDRESS0:-}" ] || : >ready # a client is made when its server listens, and waits for this file
  reach || { finish; exit 125; }
  probe before "$scripts/probe.sh" "$scripts/facts.sh"
  deadline=$((SECONDS + $1))
}

own() { # own FOLDER STDERR [keep]: make the task's own folder on the storage path, in each pod that lacks it
  clock
  local begun=$now host
  own_folder=$1
  if mkdir -- "$1" 2>"$2"; then
    for host in "${hosts[@]}"; do
      on "$host" sh -c "$is_ours"' || mkdir -- "$1"' own "$1" 2>>"$2" || break
    done && [ ! -s "$2" ] && { [ -z "${3:-}" ] || own_folder=; return 0; }
  else
    own_folder=
  fi
  clock
  printf 'step storage 1 %s %s\n' "$begun" "$now" >>progress
  return 1
}

is_ours='[ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]'

disown_folder() { # remove it again: it is this user's, and no link
  local removal="if $is_ours;"' then rm -rf -- "$1"; fi' host
  [ -n "${own_folder:-}" ] || return 0
  sh -c "$removal" disown "$own_folder"
  for host in "${hosts[@]}"; do on "$host" sh -c "$removal" disown "$own_folder"; done
  own_folder=
} 2>/dev/null

step() { # step NAME STDOUT STDERR COMMAND…: run a program in what is left of the task's time
  local name=$1 out=$2 err=$3 left=$((deadline - SECONDS)) begun
  shift 3
  clock
  begun=$now
  set -- "${@//'{run}'/${TARE_RUN:-}}"
  [ -z "$is_ended" ] || set -- sh -c 'exit 143' # before it began: 128 + SIGTERM, as if it had
  timeout --kill-after=10 "$((left > 0 ? left : 1))" "${@//'{address0}'/${TARE_ADDRESS0:-}}" >"$out" 2>"$err" </dev/null &
  child=$!
  [ -z "$is_ended" ] || kill "$child" 2>/dev/null # the signal came while it began
  begin_stream "$out" "$err"
  while :; do # a signal of the kubelet interrupts 'wait', and not the program
    wait "$child"
    kill -0 "$child" 2>/dev/null || break
  done
  wait "$child"
  code=$?
  clock
  end_stream "$out" "$err"
  printf 'step %s %s %s %s\n' "$name" "$code" "$begun" "$now" >>progress
  return "$code"
}

step_on_first() { # step_on_first NAME STDOUT STDERR COMMAND…: the same, in the first worker
  local name=$1 out=$2 err=$3
  shift 3
  set -- "${@//'{run}'/${TARE_RUN:-}}"
  [ ${#hosts[@]} = 0 ] || set -- "${ssh[@]}" "${hosts[0]}" "cd $work && $(printf '%q ' "$@")"
  step "$name" "$out" "$err" "$@"
}

gather_reports() { # copy the reports of ranks and their libraries from the other workers, if they wrote any
  local host
  [ -d ranks ] && for host in "${hosts[@]:1}"; do
    on "$host" tar -C "$work" -cf - ranks transport 2>/dev/null | tar -C "$work" --skip-old-files -xf - &
  done
  wait
}

finish() { # probe again, copy the files of the first worker, and send all results in the pod's log
  unwatch
  probe after "$scripts/probe.sh"
  disown_folder
  mv progress landed
  cp landed /dev/termination-log 2>/dev/null
  if [ "$sends_files" = yes ] && [ -z "$is_unreached" ]; then
    [ ${#hosts[@]} = 0 ] || gather
    gather_reports
  fi
  send_results
}

child=
code=0
is_unreached= # no rank has run, and workers that cannot be reached have no results
is_ended= # set by a signal, which may come while a pod is probed and there is no program yet
watchers=()
trap '[ "$is_pair" = yes ] && : >"$work/done" || { is_ended=yes; [ -n "$child" ] && kill "$child"; }' TERM
