# Load a software environment into this bash. The generated lines below run each step at the top level, between
# tare_begin and tare_end. What the steps print goes to $tare_log, never to the program's output. The variables
# tare_role, tare_folder and tare_hash are set before.

tare_begin() { # tare_begin WHAT: begin a step; false if an earlier one has failed
  [ -z "$tare_failed" ] || return 1
  tare_what=$1 tare_line='' tare_codes=0
  : >"$tare_said"
  exec </dev/null >"$tare_said" 2>&1
}

tare_end() { # tare_end CODE: end the step
  exec <&"$tare_in" >&"$tare_out" 2>&"$tare_err"
  { printf '$ %s\n' "$tare_what" && cat -- "$tare_said"; } >>"$tare_log"
  if [ "$1" != 0 ] || [ "$tare_codes" != 0 ]; then
    tare_fail "$1"
  elif [ "${tare_what%% *}" = module ] && grep -qE '^[^ ]*ERROR:|^Inactive Modules' "$tare_said"; then
    tare_fail "$1" # these return 0: environment-modules before 4 with an error, and Lmod when it makes others inactive
  fi
}

tare_error() { # in an ERR trap: remember the first command of setup lines that failed, but not one in a file that they read
  [ "$1" != 0 ] && [ "${2:-}" != source ] && [ "$tare_codes" = 0 ] || return 0
  tare_codes=$1
  case $3 in 'eval '*) ;; *) tare_line=${3//$'\n'/ } ;; esac
}

tare_fail() { # tare_fail CODE: report that the step has failed
  tare_failed=1
  local code=$1
  [ "$tare_codes" = 0 ] || code=$tare_codes
  {
    printf '%s\n%s\n%s\n' "${tare_line:-$tare_what}" "${TARE_NODE:-$HOSTNAME}" "$code" | cat
    tail -c 4096 -- "$tare_said"
  } >"$tare_fault"
}

tare_exit() { # in an EXIT trap: a setup line has ended this shell
  exec <&"$tare_in" >&"$tare_out" 2>&"$tare_err"
  [ -n "$tare_failed" ] || { tare_line="$tare_what (which ended the shell)" && tare_fail "$1"; }
  cat -- "$tare_said" >>"$tare_log"
  tare_report
  [ "$tare_role" != ask ] || printf '\036software.fault\036\n%s\n' "$tare_fault_text"
}

tare_report() { # what is left to do when a step has failed
  if [ "$tare_role" = ask ]; then
    tare_fault_text=$(cat -- "$tare_fault")
  else
    printf 'tare: %s failed on %s; see software/ in the folder of the run\n' "${tare_line:-$tare_what}" "${TARE_NODE:-$HOSTNAME}" >&2
  fi
  tare_clean
}

tare_clean() {
  rm -f -- "$tare_said"
  [ "$tare_role" != ask ] || rm -f -- "$tare_fault"
}

tare_find_module() { # define 'module' as a login shell does; the folders of PATH stay first
  local path=$PATH file
  unset -f module ml
  if [ -r /etc/profile ]; then
    . /etc/profile
    [ "$PATH" = "$path" ] || PATH=$path:$PATH
  fi
  for file in "${LMOD_PKG:-/usr/share/lmod/lmod}/init/bash" "${MODULESHOME:-/usr/share/modules}/init/bash"; do
    if ! declare -F module >/dev/null && [ -r "$file" ]; then . "$file"; fi
  done
  declare -F module >/dev/null || {
    echo "no 'module' command: neither /etc/profile nor Lmod's or environment-modules' usual place defines it;" \
      "read its init/bash in 'setup'"
    return 127
  }
}

# Until a setup line defines them, or the environment does, the first call finds them.
declare -F module >/dev/null || module() { tare_find_module && module "$@"; }
declare -F ml >/dev/null || ml() { tare_find_module && ml "$@"; }

tare_find_spack() { # define 'spack' as a shell function, which alone can load packages into this shell
  declare -F spack >/dev/null && return
  local root=${SPACK_ROOT:-}
  [ -n "$root" ] || { root=$(type -P spack) && root=$(readlink -f -- "$root") && root=${root%/bin/spack}; }
  [ -z "$root" ] || [ ! -r "$root/share/spack/setup-env.sh" ] || . "$root/share/spack/setup-env.sh"
  declare -F spack >/dev/null || {
    echo "no shell support of Spack; read its setup-env.sh in 'setup': . /opt/spack/share/spack/setup-env.sh"
    return 127
  }
}

exec {tare_in}<&0 {tare_out}>&1 {tare_err}>&2
tare_failed='' tare_what='' tare_line='' tare_codes=0
if [ "$tare_role" = ask ]; then
  tare_said=$(mktemp) && tare_fault=$(mktemp) || exit
  tare_log=/dev/null
else
  tare_said=$tare_folder/printed.$HOSTNAME.$$ tare_fault=$tare_folder/fault.$HOSTNAME.$$
  case $tare_role in rank) tare_log=/dev/null ;; *) tare_log=$tare_folder/$tare_role.log ;; esac
fi
trap 'tare_exit $?' EXIT
