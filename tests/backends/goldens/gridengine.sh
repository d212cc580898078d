#!/bin/bash
#$ -N tare-0123456789ab-a-1.1
#$ -S /bin/bash
#$ -V
#$ -j y
#$ -o /dev/null
#$ -r n
#$ -R y
#$ -ac tare=ca%3A2%3Alogin1%3A%20/c
#$ -pe mpi-24 48
#$ -l h_rt=300
#$ -q compute.q
#$ -P proj42
#$ -l exclusive=true
#$ -l ib

set -u
exec >/c/attempts/a/1.1/job.out 2>&1
asked_nodes=2 first_folder=/c/attempts/a/1.1
job_id=$JOB_ID
if [ -n "${PE_HOSTFILE-}" ]; then
  mapfile -t node_names < <(awk '!seen[$1]++ { print $1 }' "$PE_HOSTFILE") # the first is where this script runs
else
  node_names=("$HOSTNAME")
fi
node0=${node_names[0]} this_node=${node_names[0]}
printf -v job_nodes '%s,' "${node_names[@]}"
job_nodes=${job_nodes%,}
if [ "${#node_names[@]}" -lt "$asked_nodes" ]; then
  printf 'Grid Engine gave the slots of %s, and not of %s nodes\n' "$job_nodes" "$asked_nodes" >&2
  printf 'job %s %s\n' "$job_id" "$job_nodes" >"$first_folder/progress" # an untouched folder would look as if the nodes did not share it
  exit 93
fi

# qdel kills the job's process group, which the programs of a run have left. This guard ends them (see
# ENABLE_ADDGRP_KILL in sge_conf(5), which few sites have, and which spares root's).
guard='tail --pid="$1" -f /dev/null
for one in /proc/[0-9]*; do
  [ "${one#/proc/}" = $$ ] || ! tr "\0" "\n" <"$one/environ" | grep -qxF "SGE_JOB_SPOOL_DIR=$2" || kill -KILL "${one#/proc/}"
done'
setsid /bin/sh -c "$guard" guard $$ "$SGE_JOB_SPOOL_DIR" </dev/null >/dev/null 2>&1 &

# MPIs start their daemons with this, as they would with ssh.
tools=$(mktemp -d "${TMPDIR:-${TMP:-/tmp}}/tare.XXXXXX") # Grid Engine makes that folder for the job, and removes it
cat >"$tools/tare-qrsh" <<'AGENT'
#!/bin/sh
while :; do
  case $1 in
    -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
node=$1
shift
exec qrsh -inherit -nostdin "$node" "$@"
AGENT
chmod 700 "$tools/tare-qrsh"
PATH=$tools:$PATH

# qrsh gives a command to the user's shell. Within quotes, csh ends a word at a newline, and replaces "!word" by a
# command of its history, as no shell of POSIX does. So a shell of POSIX decodes what csh must not see.
on_node() { # on_node NODE COMMAND…: the command is in a file, because qrsh limits its length
  local node=$1 file words code
  shift
  if [ "$node" = "$this_node" ]; then
    "$@"
    return
  fi
  file=$PWD/.on.$BASHPID
  printf 'cd %q && exec' "$PWD" >"$file" && printf ' %q' "$@" >>"$file" || return
  words="exec /bin/bash '${file//\'/\'\\\'\'}'"
  words=${words//\\/\\0134} words=${words//\'/\\0047} words=${words//!/\\0041} words=${words//$'\n'/\\0012}
  qrsh -inherit "$node" /bin/sh -c \''eval "$(printf %b "$0")"'\' "'$words'"
  code=$?
  rm -f -- "$file"
  return "$code"
}
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

# The functions that run a task of this job. A task's folder is on a file system that the nodes share. Its file
# 'progress' lists the steps that have ended. It is renamed to 'landed' when the task is complete.
# The batch system's own part, above, sets job_id, job_nodes, node0 (the first node) and this_node (the node that
# runs this script). It defines on_each [--output=FILE] [--error=FILE] [--input=all] COMMAND…, which replaces its
# shell by the command, as srun does, and runs it once on each of the task's first $nodes nodes, beside other
# programs; %N in a FILE is the node's name. If it sets the array node_names, the task's file 'hostfile' lists the
# nodes for MPIs. If srun may start programs, it sets the array allocated to the job's nodes.

clock() { # set 'now': seconds since the epoch, and since the node started; only the former can be set. EPOCHREALTIME needs bash 5
  local up
  read -r up _ </proc/uptime
  now="${EPOCHREALTIME-$(date +%s.%N)} $up"
}

probe() { # probe NAME SCRIPT: write the output of a script on each node to NAME.<node>
  (on_each --output="$1.%N" sh -c "$2") </dev/null
}

await() { # await FILES PID: wait until each node has written one, for 5 s at most: a run continues without them
  local i
  for ((i = 0; i < 50; i++)); do
    [ "$(find . -maxdepth 1 -name "$1" -size +0 | wc -l)" -ge "$nodes" ] && break
    kill -0 "$2" 2>/dev/null || break
    sleep 0.1
  done
}

watch() { # watch SAMPLER PERIOD: sample each node until 'unwatch'; a sampler ends when its input is closed
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
  } 2>/dev/null # bash warns about a second coproc, and keeps both
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

make_own_folder() { # make_own_folder FOLDER MODE STDERR [keep]: make the task's own folder on the storage path of each node
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

remove_own_folder() { # remove it, if it belongs to this user and is no link
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
  left=$3
}

first_nodes() { # first_nodes COUNT: print so many of the job's nodes, with commas between them
  local IFS=,
  echo "${allocated[*]:0:$1}"
}

fill() { # fill WORD…: set the array 'filled' to the words, in which nodes are named that only the job knows
  # {node0} becomes the first node: other nodes reach it by an address that contains its name. In srun's --nodelist,
  # {nodes:COUNT} becomes the first nodes: Slurm may start ranks on others, if the job has more.
  local word
  filled=()
  for word in "${@//'{node0}'/$node0}"; do
    [[ ! $word =~ ^(--nodelist=)\{nodes:([0-9]+)\}$ ]] || word=${BASH_REMATCH[1]}$(first_nodes "${BASH_REMATCH[2]}")
    filled+=("$word")
  done
}

step() { # step NAME STDOUT STDERR COMMAND…: run a program in the remaining time of the task
  # 'left' is what its steps may still take, in seconds: what the nodes are asked between them does not count.
  local name=$1 out=$2 err=$3 started=$SECONDS code begun
  shift 3
  fill "$@"
  clock
  begun=$now
  TARE_TASK=$task_name timeout --kill-after=10 "$((left > 0 ? left : 1))" "${filled[@]}" >"$out" 2>"$err" </dev/null
  code=$?
  left=$((left - (SECONDS - started)))
  exit_if_recorded
  clock
  printf 'step %s %s %s %s\n' "$name" "$code" "$begun" "$now" >>progress
  [ "$code" = 0 ] || failed=1
  return "$code"
}

exit_if_recorded() { # a job may outlive its daemon: its run has then been recorded, with the checksums of its files
  [ ! -e SHA256SUMS ] || exit 0
}

# 'sweep' ends the processes that a task left on a node; 'of_task' identifies the task. 'storage_check' tries to write to its storage.
finish() { # on_each may return 0 for a step that died with its node, but then no other step starts there
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

facts='cat /proc/cpuinfo'
sweep='
own=$(grep -o '"'"':[^:]*/session-[^/]*\.scope$'"'"' /proc/self/cgroup 2>/dev/null | head -n 1)
ticks=$(getconf CLK_TCK 2>/dev/null || echo 100)
read -r up _ </proc/uptime; begun=$(( ${begun:-$((${up%%.*}${up#*.} - since))} * ticks / 100 ))
real=$(cd -- "$folder" 2>/dev/null && pwd -P) || real=$folder
labelled() { grep -lzs -e "$label_pattern" /proc/[0-9]*/environ | tr -dc '"'"'0-9\n'"'"'; }
lost() { # whatever its environment: each with why it may be the job'"'"'s
  [ "${#real}" -gt 1 ] && ls -ld /proc/[0-9]*/cwd 2>/dev/null | while IFS= read -r line; do
    case "${line#* -> }" in
      "$real" | "$real/"* | "$real (deleted)") p=${line%%/cwd -> *}; echo "${p##*/} folder" ;;
    esac
  done
  [ -z "$own" ] || grep -lsF -e "$own" /proc/[0-9]*/cgroup | sed '"'"'s#^/proc/\([0-9]*\)/.*#\1 session#'"'"'
}
is_stray() { # is_stray PID EVIDENCE
  [ -O "/proc/$1" ] && [ "$1" != $$ ] || return 1
  [ "$(cat "/proc/$1/comm" 2>/dev/null)" != slurmstepd ] || return 1 # it is there while it starts a step
  grep -qzs -e '"'"'^TARE_JOB='"'"' -e '"'"'^TARE_TASK='"'"' "/proc/$1/environ" && return 1
  [ "$2" = folder ] || ! grep -qzs -e '"'"'^SSH_CONNECTION='"'"' "/proc/$1/environ" || return 1
  s=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- ${s##*) }
  [ "$1" != Z ] && [ "$5" = 0 ] && [ "${20}" -ge "$begun" ] || return 1
  [ "$2" = 1 ] || [ "$(cat "/proc/$2/comm" 2>/dev/null)" = systemd ]
}
strays() { lost | while read -r p why; do is_stray "$p" "$why" && echo "$p"; done; }
report() { printf '"'"'%s %s '"'"' "$1" "$2"; tr '"'"'\0\n'"'"' '"'"'  '"'"' <"/proc/$2/cmdline" 2>/dev/null; echo; }
seen='"'"' '"'"'; n=0
while [ $((n += 1)) -le 10 ]; do
  left=
  for p in $(labelled; strays); do
    [ -n "$spared" ] && [ "$(cat "/proc/$p/comm" 2>/dev/null)" = "$spared" ] && continue
    left="$left $p"
    case "$seen" in *" $p "*) ;; *) seen="$seen$p "; report tare-found "$p" ;; esac
    kill -KILL "$p" 2>/dev/null
  done
  [ -n "$left" ] || break
  sleep 0.1 2>/dev/null || sleep 1
done
for p in $left; do report tare-left "$p"; done
true
'
counters='# Print the network counters of this node as records: /proc/net/dev, then the files of interfaces and adapters below
# /sys/class, one path a line, with its value if it has one. Uses builtins of the shell where possible.
# Argument: the root of the file system, for tests.
root=${1-}
printf '"'"'\036/proc/net/dev\036'"'"'
cat "$root/proc/net/dev"
printf '"'"'\036/sys/class\036'"'"'
(
  cd "$root/sys/class" || exit
  [ -d cxi ] && sleep 2 # the driver of Slingshot adapters reads their counters only every other second
  for path in net/*/lower_* net/*/bonding net/*/bridge net/*/device/infiniband/* infiniband/*/ports/* \
    cxi/cxi* cxi/*/device/net/*; do
    [ -e "$path" ] && printf '"'"'%s\n'"'"' "$path"
  done
  for path in net/*/dev_port infiniband/*/parent infiniband/*/device/uevent infiniband/*/ports/*/link_layer \
    infiniband/*/ports/*/gid_attrs/ndevs/[0-9] infiniband/*/ports/*/gid_attrs/ndevs/[1-3][0-9] \
    infiniband/*/ports/*/counters/port_xmit_data infiniband/*/ports/*/counters/port_rcv_data \
    infiniband/*/ports/*/counters/port_xmit_packets infiniband/*/ports/*/counters/port_rcv_packets \
    infiniband/*/ports/*/counters_ext/port_*_64 infiniband/*/ports/*/hw_counters/*_bytes \
    infiniband/*/ports/*/hw_counters/*_pkts infiniband/*/ports/*/hw_counters/*Octets \
    infiniband/*/ports/*/hw_counters/*_bytes_cnt cxi/*/device/telemetry/hni_sts_[rt]x_ok_octets; do
    value=
    read -r value <"$path"
    [ -n "$value" ] && printf '"'"'%s %s\n'"'"' "$path" "$value"
  done
  for path in net/*/device/infiniband/*; do # adapters whose RDMA counters only ethtool(8) shows
    device=${path##*/} rest=${path#net/}
    name=${rest%%/*}
    for port in infiniband/"$device"/ports/*; do
      [ -e "$port" ] && ! [ -e "$port/counters/port_xmit_data" ] && ! [ -e "$port/hw_counters/tx_bytes" ] &&
        [ -z "$root" ] && ethtool -S "$name" | while read -r key value; do
        case $key in [rt]x_vport_rdma_unicast_*:) printf '"'"'net/%s/ethtool/%s %s\n'"'"' "$name" "${key%:}" "$value" ;; esac
      done
    done
  done
) 2>/dev/null || : # there may be no such files'

# tare-0123456789ab-a-1.1: 1 of 2
task_name=tare-0123456789ab-a-1.1 storage_check=''
of_task='label_pattern='"'"'^TARE_TASK=tare-0123456789ab-a-1\.1$'"'"'; folder=/c/attempts/a/1.1; begun='"'"''"'"'; spared='"'"''"'"''
task /c/attempts/a/1.1 2 90 && {
  watch /c/sampler.py 0.5
  step run stdout stderr solver 'it'"'"'s' '$(touch harm)'
  finish
}

# tare-0123456789ab-a-1.1: 2 of 2
task_name=tare-0123456789ab-a-1.1 storage_check=''
of_task='label_pattern='"'"'^TARE_TASK=tare-0123456789ab-a-1\.1$'"'"'; folder='"'"'/c/attempts/it'"'"'"'"'"'"'"'"'s/1.1'"'"'; begun='"'"''"'"'; spared='"'"''"'"''
task '/c/attempts/it'"'"'s/1.1' 1 90 && {
  step run stdout stderr solver 'it'"'"'s' '$(touch harm)'
  finish
}
