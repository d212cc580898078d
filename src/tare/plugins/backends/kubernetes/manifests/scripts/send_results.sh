# Send the results of a task: the growth of files while a step runs, small files at the end, and a list of all files with
# their checksums. Each is a line of the pod's log that begins with RS (see framing.py). Files that are too large for the
# log wait in the pod, which Tare deletes when it has fetched them.
mark=$'\036tare'
printed=0          # bytes of such lines: a kubelet keeps 10 MiB of a log (containerLogMaxSize) and one rotation is a loss
piece_bytes=524288 # of a growing file, in one line
most_log=7340032 most_archive=4718592 most_manifest=1048576
declare -A sent    # how much of each growing file is in the log
streamer=
is_lost=

carry() { # carry WORD…: print one line
  local line="$mark $*"
  printf '%s\n' "$line"
  printed=$((printed + ${#line} + 1))
}

pieces() { # pieces NAME FROM TO MOST: carry a file from one offset to another, as far as MOST bytes of the log go; set 'at'
  local name=$1 to=$3 most=$((printed + $4)) length packed
  at=$2
  while [ "$at" -lt "$to" ] && [ "$printed" -lt "$most" ]; do
    length=$((to - at < piece_bytes ? to - at : piece_bytes))
    packed=$(tail -c "+$((at + 1))" -- "$name" | head -c "$length" | gzip -1 | base64 -w 0)
    carry piece "$name" "$at" "$packed"
    at=$((at + length))
  done
}

stream() { # stream PERIOD MOST FILE…: carry what files grow by in each period, MOST bytes of it, until end_stream
  local period=$1 most=$2 name size at
  shift 2
  until read -r -t "$period" -u "$paused" _; do
    for name; do
      [ -s "$name" ] && size=$(stat -c %s -- "$name") || continue
      local from=${sent[$name]:-0}
      pieces "$name" "$from" "$((size < from + most ? size : from + most))" 1048576
      sent[$name]=$at
    done
  done
  printf '%s' "$printed" >"$run/printed"
  for name; do printf '%s' "${sent[$name]:-0}" >"$run/sent.$name"; done
}

begin_stream() { # begin_stream FILE…: the same, beside the step that writes them
  local period=1 most=16777216 # beside ranks, few CPUs are left for it
  [ ${#hosts[@]} -gt 0 ] || { period=5 most=1048576; }
  [ "$sends_files" = yes ] && ! is_server || return 0
  [ -p "$run/paused" ] || { mkfifo "$run/paused" && exec {paused}<>"$run/paused"; } || return 0
  stream "$period" "$most" "$@" 2>/dev/null &
  streamer=$!
}

end_stream() { # end_stream FILE…: end it, and take over how far it came
  local name
  [ -n "$streamer" ] || return 0
  echo >&"$paused"
  while kill -0 "$streamer" 2>/dev/null; do wait "$streamer"; done
  streamer=
  [ ! -s "$run/printed" ] || printed=$(cat "$run/printed")
  for name; do [ ! -s "$run/sent.$name" ] || sent[$name]=$(cat "$run/sent.$name"); done
}

gather() { # copy the files of the first worker here; set 'is_lost' if some are missing (tar's 1: a file changed meanwhile)
  local ended
  on "${hosts[0]}" sh -c 'chmod -R u+rwX "$1"; exec tar -C "$1" -cf - .' gather "$work" 2>"$run/gather" |
    tar -C "$work" --skip-old-files -xf - 2>>"$run/gather"
  ended=("${PIPESTATUS[@]}")
  [ "${ended[0]}" -le 1 ] && [ "${ended[1]}" -le 1 ] && return
  is_lost=yes
  cat "$run/gather" >&2
}

is_server() { # whether this pod is the server of a pair, which sends only its counters, its output and telemetry
  [ "$is_pair" = yes ] && [ -z "${TARE_ADDRESS0:-}" ]
}

carry_whole() { # carry_whole NAME MOST: carry one of our own files, unless it has more bytes than that
  local at=0 line
  [ "$(stat -c %s "$run/$1")" -le "$2" ] || return 1
  while read -r line; do
    carry part "$1" "$at" "$line"
    at=$((at + 9000))
  done < <(base64 -w 12000 "$run/$1")
}

send_results() { # carry all files that the log has space for, and a list of all files that are sent
  local sent_files=(-type f) apart=() name size at waits=no
  ! is_server || sent_files+=('(' -name before.0 -o -name after.0 -o -name server.out -o -name 'telemetry.*' -o -name 'packets.*' ')')
  [ "$sends_files" = no ] || chmod -R u+rwX . 2>/dev/null
  find . "${sent_files[@]}" -printf '%s %p\0' >"$run/sizes"
  : >"$run/sums"
  [ "$sends_files" = no ] || find . "${sent_files[@]}" -exec sha256sum -z -- {} + >"$run/sums"
  { cat "$run/sizes"; printf '\0'; cat "$run/sums"; } | gzip >"$run/manifest"
  : >"$run/archive"
  if [ "$sends_files" = yes ]; then
    for name in "${!sent[@]}"; do [ "${sent[$name]}" = 0 ] || apart+=(! -path "./$name"); done
    find . '(' -type d -empty -o "${sent_files[@]}" "${apart[@]}" ! -size +"$most_kib"k ')' -print0 |
      tar --null --no-recursion -T - -czf "$run/archive"
    [ -z "$(find . "${sent_files[@]}" "${apart[@]}" -size +"$most_kib"k -print -quit)" ] || waits=yes
  fi
  carry_whole manifest "$most_manifest" || waits=yes
  carry_whole archive "$most_archive" || waits=yes
  for name in "${!sent[@]}"; do
    [ "${sent[$name]}" != 0 ] || continue
    size=$(stat -c %s -- "$name") || continue
    pieces "$name" "${sent[$name]}" "$size" "$((most_log - printed))"
    [ "$at" = "$size" ] || waits=yes
  done
  [ "$printed" -le "$most_log" ] || waits=yes
  ! is_server && [ "$sends_files" = yes ] && [ -z "$is_ended" ] || waits=no
  [ -z "$is_lost" ] || waits=lost
  set -- end "$waits" "$(stat -c %s "$run/manifest")" "$(sum_of manifest)" "$(stat -c %s "$run/archive")" "$(sum_of archive)"
  carry "$@"
  [ "$waits" != yes ] || wait_for_fetch "$@"
}

sum_of() { # sum_of NAME: print the checksum of one of our own files
  local sum _
  read -r sum _ < <(sha256sum "$run/$1")
  printf '%s' "$sum"
}

wait_for_fetch() { # wait_for_fetch WORD…: wait until Tare fetches files and deletes this pod; repeat the line, as logs rotate
  local until=$((SECONDS + fetched_s))
  trap 'is_ended=yes; kill "$child"' TERM
  while [ "$SECONDS" -lt "$until" ] && [ -z "$is_ended" ]; do
    sleep 10 &
    child=$!
    wait "$child"
    carry "$@"
  done
}
