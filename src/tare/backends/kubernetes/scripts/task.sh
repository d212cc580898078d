set -u
# What the launcher of a task goes through, or the one pod that there is: probes, steps, and bringing home what they
# made. 'progress' in the working folder tells which steps have ended, and becomes 'landed' when the task is over.
run=/tare/run work=/tare/work scripts=/tare/scripts

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
  local host patience=$((SECONDS + 120))
  for host in "${hosts[@]}"; do
    until on "$host" true 2>"$run/ssh.log"; do
      if [ "$SECONDS" -ge "$patience" ]; then
        printf 'unreachable %s\n' "$host" >>progress
        cat "$run/ssh.log" >&2
        return 1
      fi
      sleep 1
    done
  done
}

watch() { # watch PERIOD: sample each pod until 'unwatch'; a sampler ends with its input, however that comes
  local number=0 host sampler deadline=$((SECONDS + 5)) # a run goes on without
  mkfifo "$run/watched"
  exec {watched}<>"$run/watched"
  for host in "${hosts[@]:-}"; do
    sampler="cd $run && exec python3 -I -S $scripts/sampler.py"
    { printf '["begin","telemetry","%s"]\n' "$1"; read -r _ <&"$watched"; } |
      if [ -z "$host" ]; then sh -c "$sampler"; else "${ssh[@]}" "$host" "$sampler"; fi \
        >"$run/sampler.$number" 2>>"$run/telemetry.errors" &
    samplers+=($!)
    number=$((number + 1))
  done
  until [ "$(cat "$run"/sampler.* 2>/dev/null | wc -l)" -ge $((2 * number)) ] || [ "$SECONDS" -ge "$deadline" ] ||
    [ -s "$run/telemetry.errors" ]; do sleep 0.1; done # ready, and begun
}

unwatch() { # end the samplers, and fetch what they wrote, under the names of their nodes
  local pid host node
  for pid in "${samplers[@]}"; do echo >&"$watched"; done
  for pid in "${samplers[@]}"; do wait "$pid"; done
  [ ${#samplers[@]} = 0 ] || for host in "${hosts[@]:-}"; do
    node=$(${host:+on "$host"} cat "$run/node")
    ${host:+on "$host"} cat "$run/telemetry" >"telemetry.$node.jsonl" || rm -f "telemetry.$node.jsonl"
  done 2>/dev/null
  samplers=()
  [ ! -s "$run/telemetry.errors" ] || cp "$run/telemetry.errors" .
}

task() { # task SECONDS: begin a task
  sh "$scripts/prepare.sh" true
  cd "$work" || exit 125
  mapfile -t hosts < <(hosts)
  printf 'began %s\n' "$EPOCHREALTIME" >progress || exit 125
  [ -z "${TARE_ADDRESS0:-}" ] || : >ready # a client is made when its server listens, and waits for its word
  reach || { land; exit 125; }
  probe before "$scripts/probe.sh" "$scripts/facts.sh"
  deadline=$((SECONDS + $1))
}

step() { # step NAME STDOUT STDERR COMMAND…: run a program in what is left of the task's time
  local name=$1 out=$2 err=$3 left=$((deadline - SECONDS)) begun
  shift 3
  begun=$EPOCHREALTIME
  timeout --kill-after=10 "$((left > 0 ? left : 1))" "${@//'{address0}'/${TARE_ADDRESS0:-}}" >"$out" 2>"$err" </dev/null &
  child=$!
  while :; do # a signal of the kubelet interrupts 'wait', and not the program
    wait "$child"
    kill -0 "$child" 2>/dev/null || break
  done
  wait "$child"
  code=$?
  printf 'step %s %s %s %s\n' "$name" "$code" "$begun" "$EPOCHREALTIME" >>progress
  return "$code"
}

step_on_first() { # step_on_first NAME STDOUT STDERR COMMAND…: the same, in the first worker
  local name=$1 out=$2 err=$3
  shift 3
  [ ${#hosts[@]} = 0 ] || set -- "${ssh[@]}" "${hosts[0]}" "cd $work && $(printf '%q ' "$@")"
  step "$name" "$out" "$err" "$@"
}

land() { # probe again, bring home what the first worker has, and put all of it into the pod's log
  unwatch
  probe after "$scripts/probe.sh"
  mv progress landed
  cp landed /dev/termination-log 2>/dev/null
  [ "$brings" = yes ] || return
  [ ${#hosts[@]} = 0 ] || on "${hosts[0]}" tar -C "$work" -cf - . 2>/dev/null | tar -C "$work" --skip-old-files -xf -
  find . -type f -size +"$most_kib"k >"$run/left-out"
  [ -s "$run/left-out" ] && cp "$run/left-out" left-out
  printf '\n-----BEGIN TARE-----\n'
  tar -czf - --exclude-from="$run/left-out" . | base64
  printf -- '-----END TARE-----\n'
}

child=
code=0
samplers=()
trap '[ "$serves" = yes ] && : >"$work/done" || { [ -n "$child" ] && kill "$child"; }' TERM
