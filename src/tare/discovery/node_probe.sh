# Print what a node is, as records; for any POSIX shell. It changes nothing. It takes about a second, and up to a minute for each of
# modules, EESSI and Spack.
# $folders: folders to look at, one a line; $prefixes: where MPIs may be; $marker: a file of the campaigns' folder;
# $modules: text for bash that looks at environment modules, or nothing; $packages: packages of Spack to ask for.
PATH=$PATH:/usr/sbin:/sbin
limit() { if command -v timeout >/dev/null; then timeout -k 2 10 "$@"; else "$@"; fi; }
is_over() { [ "$1" = 124 ] || [ "$1" = 137 ]; } # is_over CODE: whether `limit` has ended a program that returned CODE
command -v cat >/dev/null || cat() { while IFS= read -r line; do printf '%s\n' "$line"; done <"$1"; } # where PATH has no programs
files() { for f do [ -f "$f" ] && [ -r "$f" ] && record "$f" && cat "$f"; done; }
record node; echo "${SLURMD_NODENAME:-$node}"
record hostname; uname -n
record machine; cat /proc/sys/kernel/random/boot_id
record seen; [ -e "$marker" ] && echo yes
record ssh; printf '%s\n' "$SSH_CONNECTION"
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
record fabrics
for port in /sys/class/infiniband/*/ports/*; do
  [ -d "$port" ] || continue
  device=${port%/ports/*}
  echo "${device##*/}:${port##*/}|$(cat "$port/link_layer")|$(cat "$port/state")|$(cat "$port/rate")"
done
for device in /sys/class/cxi/*; do
  [ -e "$device" ] && echo "${device##*/}|Slingshot|ACTIVE|"
done
record names
ip -o -4 addr show scope global | while read -r _ _ _ address _; do
  limit getent hosts "${address%/*}"
  ! is_over $? || break # no name server answers, and none will for the next
done
record aliases
host=${SLURMD_NODENAME:-${node:-$(uname -n)}}
for name in $(sed -n 's/^ *\([^:]*\):.*/\1/p' /proc/net/dev) ib opa hsn; do
  found=$(limit getent ahostsv4 "$host-$name")
  ! is_over $? || break
  printf '%s\n' "$found" | awk -v name="$host-$name" '$2 == "STREAM" || NF == 3 { print $1, name; exit }'
done
record loaded; printf '%s\n' "$LOADEDMODULES"
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
  launcher=$prefix/bin/mpirun
  [ -x "$launcher" ] || launcher=$prefix/bin/mpiexec.hydra # a slim image has no other
  if [ -z "$prefix" ] || [ ! -x "$launcher" ]; then continue; fi
  record "mpi $prefix"
  (
    export PATH="$prefix/bin:$PATH" LD_LIBRARY_PATH="$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" I_MPI_ROOT="$prefix"
    limit "$launcher" --version 2>&1 </dev/null | head -5
  )
done
case $launchers in # a script of the site, which starts the mpirun of an MPI
  */bin/mpirun) ;;
  /*/mpirun) record "mpirun $launchers"; limit "$launchers" --version 2>&1 </dev/null | head -5; record mpicc; command -v mpicc ;;
esac
record programs
{ printf '%s\n' "$prefixes" | sed 's|$|/bin|'; printf '%s\n' "$PATH" | tr : '\n'; } | while read -r folder; do
  for name in mpicc IMB-MPI1 osu_latency; do
    if is_usable "$folder/$name"; then echo "$folder/$name"; fi
  done
done
if [ -n "$modules" ] && [ -x /bin/bash ] && command -v timeout >/dev/null; then
  tare_before=$(command -v mpirun) tare_stack='' timeout -k 2 60 /bin/bash -c "$modules" </dev/null
  eessi=${EESSI_CVMFS_REPO:-/cvmfs/software.eessi.io}
  case ":$MODULEPATH:" in
    *:"$eessi"/versions/*) # its modules are among the others
      version=${MODULEPATH#*"$eessi"/versions/}
      init=$eessi/versions/${version%%/*}/init/lmod/bash
      if [ -r "$init" ]; then record "eessi here"; printf '%s\n' "$init"; fi
      ;;
    *)
      limit ls -d "$eessi"/versions/*/init/lmod/bash | sort -rV | head -n 1 | while read -r init; do # the newest
        record "eessi init"; printf '%s\n' "$init"
        tare_before=$(command -v mpirun) tare_stack='eessi ' timeout -k 2 60 \
          /bin/bash -c ". \"\$0\" </dev/null >/dev/null; $modules" "$init" </dev/null
      done
      ;;
  esac
fi
spack_roots() { # folders in which Spack may be, the likeliest first
  printf '%s\n' "$SPACK_ROOT"
  spack=$(command -v spack) && spack=$(readlink -f "$spack") && printf '%s\n' "${spack%/bin/spack}"
  limit /bin/bash -lc 'printf "\n%s\n" "$SPACK_ROOT"' </dev/null | tail -n 1
  printf '%s\n' "$HOME/spack" /opt/spack /usr/local/spack /apps/spack
}
spack_root=$(spack_roots | while read -r root; do
  if [ -n "$root" ] && [ -x "$root/bin/spack" ] && [ -r "$root/share/spack/setup-env.sh" ]; then printf '%s\n' "$root"; fi
done | head -n 1)
if [ -n "$packages" ] && [ -n "$spack_root" ] && command -v timeout >/dev/null; then
  record "spack root"; printf '%s\n' "$spack_root"
  # shellcheck disable=SC2086  # names without blanks
  record "spack found"; timeout -k 2 60 "$spack_root/bin/spack" find --json $packages </dev/null | tr -d '\036'
fi
record end; echo
