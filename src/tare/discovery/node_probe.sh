# Print what a node is, as records; for any POSIX shell. It changes nothing, and takes about a second, and up to a minute for modules.
# $folders: folders to look at, one a line; $prefixes: where MPIs may be; $marker: a file of the campaigns' folder;
# $modules: text for bash that looks at environment modules, or nothing.
PATH=$PATH:/usr/sbin:/sbin
limit() { if command -v timeout >/dev/null; then timeout 10 "$@"; else "$@"; fi; }
files() { for f do [ -f "$f" ] && [ -r "$f" ] && record "$f" && cat "$f"; done; }
record node; echo "${SLURMD_NODENAME:-$node}"
record hostname; uname -n
record machine; cat /proc/sys/kernel/random/boot_id
record seen; [ -e "$marker" ] && echo yes
record threads; getconf _NPROCESSORS_ONLN
files /proc/cpuinfo /proc/meminfo /proc/self/mountinfo /proc/net/dev
record addresses; ip -o addr show
record routes; ip -o route show default
for nic in /sys/class/net/*; do
  name=${nic##*/}
  record "rate $name"; cat "$nic/speed"
  for device in "$nic"/device/infiniband/*; do
    [ -d "$device" ] || continue
    number=$(cat "$nic/dev_port"); port=$device/ports/$((${number:-0} + 1))
    record "port $name"
    echo "${device##*/}:${port##*/} $(cat "$port/link_layer") $(cat "$port/rate")"
  done
done
record names
ip -o -4 addr show scope global | while read -r _ _ _ address _; do
  getent hosts "${address%/*}"
done
record aliases
host=${SLURMD_NODENAME:-${node:-$(uname -n)}}
for name in $(sed -n 's/^ *\([^:]*\):.*/\1/p' /proc/net/dev) ib opa hsn; do
  getent ahostsv4 "$host-$name" | awk -v name="$host-$name" '$2 == "STREAM" || NF == 3 { print $1, name; exit }'
done
record folders
printf '%s\n' "$folders" | while read -r folder; do
  [ -n "$folder" ] && [ -d "$folder" ] || continue
  if [ -w "$folder" ]; then echo "w $(cd "$folder" && pwd -P)	$folder"; else echo "r $(cd "$folder" && pwd -P)	$folder"; fi
done
record containers
for name in apptainer singularity podman docker ch-run sarus enroot udocker shifter; do
  command -v $name >/dev/null && echo $name
done
launchers=$(command -v mpirun)
{ printf '%s\n' "$prefixes"; printf '%s\n' "${launchers%/bin/mpirun}"; } | while read -r prefix; do
  if [ -z "$prefix" ] || [ ! -x "$prefix/bin/mpirun" ]; then continue; fi
  record "mpi $prefix"
  (
    export PATH="$prefix/bin:$PATH" LD_LIBRARY_PATH="$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" I_MPI_ROOT="$prefix"
    limit "$prefix/bin/mpirun" --version 2>&1 </dev/null | head -5
  )
done
record programs
{ printf '%s\n' "$prefixes" | sed 's|$|/bin|'; printf '%s\n' "$PATH" | tr : '\n'; } | while read -r folder; do
  for name in mpicc IMB-MPI1 osu_latency; do
    if [ -f "$folder/$name" ] && [ -x "$folder/$name" ]; then echo "$folder/$name"; fi
  done
done
if [ -n "$modules" ] && [ -x /bin/bash ] && command -v timeout >/dev/null; then
  tare_before=$(command -v mpirun) timeout 60 /bin/bash -c "$modules" </dev/null
fi
record end; echo
