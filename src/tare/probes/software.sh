# Load a software environment into this bash. The generated lines below run each step at the top level, between
# tare_begin and tare_end. What a step prints goes to $tare_said, never to the program's output. While a step runs,
# this file names it: if it is left behind, the step has not come to its end. The variables tare_role, tare_folder and
# tare_hash are set before.

tare_begin() { # tare_begin WHAT: begin a step; false if an earlier one has failed
  [ -z "$tare_failed" ] || return 1
  tare_failed=1 # until it has ended well
  tare_what=$1 tare_line='' tare_codes=0 tare_is_through='' tare_listed=${LOADEDMODULES-}
  printf '%s\n%s\n\n' "$tare_what" "$tare_node" >"$tare_said"
}

tare_through() { # tare_through CODE: at the end of a step, undo what it must not leave to the next: options, folder
  tare_is_through=1
  eval "$tare_options"
  trap 'tare_exit $?' EXIT
  cd -- "$tare_cwd" || return
  return "$1"
}

tare_end() { # tare_end CODE: end the step
  local PATH=$tare_path
  tare_keep
  if [ "$tare_codes" = 0 ] && [ -n "$tare_is_through" ] && tare_is_done "$1"; then
    tare_failed=''
  else
    tare_fail "$1"
  fi
}

tare_is_done() { # tare_is_done CODE: whether a step that has returned CODE has done what it is for
  case $tare_what in
    'module load '*) tare_check_module "${tare_what#module load }" "$1" ;;
    *) [ "$1" = 0 ] ;;
  esac
}

tare_keep() { # append what the step has printed to the log
  { printf '$ %s\n' "$tare_what" && command tail -n +4 -- "$tare_said"; } >>"$tare_log"
}

tare_error() { # in an ERR trap: remember the first command of setup lines that failed, but not one in a file that they read
  [ "$1" != 0 ] && [ "${2:-}" != source ] && [ "$tare_codes" = 0 ] || return 0
  tare_codes=$1
  # A function that failed is known by its last command alone, which is often a return.
  case $3 in 'eval '* | 'return '*) ;; *) tare_line=${3//$'\n'/ } ;; esac
}

tare_fail() { # tare_fail CODE: report that the step has failed
  local code=$1
  [ "$tare_codes" = 0 ] || code=$tare_codes
  {
    printf '%s\n%s\n%s\n' "${tare_line:-$tare_what}" "$tare_node" "$code" | command cat
    command tail -n +4 -- "$tare_said" | command tail -c 4096
  } >"$tare_fault"
  command rm -f -- "$tare_said"
}

tare_exit() { # tare_exit CODE, in an EXIT trap: a step has ended this shell, or a signal has: then its file stays behind
  local PATH=$tare_path
  eval "$tare_options"
  [ "$1" != 0 ] && [ "$1" -le 128 ] || exit 1
  tare_line="$tare_what (which ended the shell)"
  tare_keep
  tare_fail "$1"
  exit 1
}

tare_report() { # tell a reader of the program's output that a step has failed
  [ "$tare_role" = ask ] ||
    printf 'tare: %s failed on %s; see software/ in the folder of the run\n' "${tare_line:-$tare_what}" "$tare_node" >&2
}

tare_check_module() { # tare_check_module NAME CODE: false if 'module load', which returned CODE, did not do what it was asked for
  local entry last one
  # These return 0: environment-modules before 4 with an error, and Lmod when it makes others inactive.
  ! command grep -qE '^[^ ]*ERROR:|^Inactive Modules' "$tare_said" || return
  # Lmod returns 1 with a mere warning.
  [ "$2" = 0 ] || { command grep -q '^Lmod Warning:' "$tare_said" && ! command grep -q 'following error:' "$tare_said"; } || return
  [ -n "${LMOD_CMD-}${MODULES_CMD-}${LOADEDMODULES-}" ] || return 0 # a module system that does not tell
  entry=$(tare_entry "${1%/}")
  if [ -z "$entry" ]; then # Lmod returns 0 if a module file in Tcl exits
    last=$(command tail -n +4 -- "$tare_said" | command grep . | command tail -n 1)
    tare_say "it reported no error, but $1 is not loaded${last:+; it had printed: $last}"
    return 1
  fi
  for one in "${tare_loaded[@]}"; do
    if [ "${one%/*}" != "${entry%/*}" ] && ! tare_is_listed "$one"; then
      tare_say "it unloaded $one, which was asked for before it; leave one of them out"
      return 1
    fi
  done
  tare_loaded+=("$entry")
}

tare_entry() { # tare_entry NAME: print the entry of LOADEDMODULES that NAME stands for; nothing if it is not loaded
  local entries one
  IFS=: read -ra entries <<<"${LOADEDMODULES-}"
  for one in "${entries[@]}"; do
    case $one in "$1" | "$1"/*) printf %s "$one" && return ;; esac
  done
  if [ "${LOADEDMODULES-}" != "$tare_listed" ] && [ "${#entries[@]}" != 0 ]; then
    printf %s "${entries[-1]}"
  elif module is-loaded "$1" >/dev/null 2>&1; then
    printf %s "$1"
  fi
}

tare_is_listed() { # tare_is_listed ENTRY: whether LOADEDMODULES has this entry, or it is another name that is loaded
  case :${LOADEDMODULES-}: in *":$1:"*) ;; *) module is-loaded "$1" >/dev/null 2>&1 ;; esac
}

tare_say() { # tare_say WORDS: end what the step has printed with the reason of its fault
  printf '\n%s\n' "$1" >>"$tare_said"
}

tare_path=$PATH tare_cwd=$PWD tare_node=${TARE_NODE:-$HOSTNAME} tare_options=$(set +o)
tare_failed='' tare_what='' tare_line='' tare_codes=0 tare_loaded=()
tare_said=$tare_folder/printed.$tare_role.$HOSTNAME.$$ tare_fault=$tare_folder/fault.$tare_role.$HOSTNAME.$$
case $tare_role in ask | rank) tare_log=/dev/null ;; *) tare_log=$tare_folder/$tare_role.log ;; esac
trap 'tare_exit $?' EXIT
