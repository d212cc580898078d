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
