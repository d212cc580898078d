# Print the MPIs of environment modules as records; for bash in which `module` can be called (see modules.py).
# $tare_before: the mpirun on the PATH of the shell that calls this; $tare_most: how many MPIs, and compilers before them, are loaded at most;
# $tare_has_module: not empty if the environment defines `module`; $tare_programs: a pattern of names of programs.
# $tare_stack: what the names of the records begin with; if not empty, no MPIs are behind compilers there.
tare_mpi='(^|/)((cray-|spectrum-|intel-?(oneapi-)?|parastation-?|ps)mpi|cray-mpich|impi|i_mpi|open-?mpi|ompi|mpich|mvapich|hpcx)|(^|/)mpi(/|$)'
tare_compiler='^([^/]*/)?(gcc|gnu[0-9]*|intel|intel-(oneapi-)?compilers|cce|oneapi|compilers|icc|icx|nvhpc|aocc|llvm|clang|acfl|arm)(/|$)'

# What a user has set for Environment Modules hides names, and what a module says.
export MODULES_AVAIL_INDEPTH=1 MODULES_COLOR=never MODULES_VERBOSITY=normal

tare_shown() { # what is available, as the module system shows it, without tags of Environment Modules
  module -t avail </dev/null 2>&1 | sed 's/ *<[^<>]*>$//'
}

tare_names() { # the names in what is shown, the newest first; banners, headings and folders are left out
  sed 's/([^()]*)$//' | grep -E '^[A-Za-z0-9_][A-Za-z0-9_.+@=/-]*[A-Za-z0-9_.+@=-]$' | sort -ruV
}

tare_modules() { # the names of modules in what is shown
  grep -v '(@[^()]*)$' | tare_names
}

tare_available() { # the names of modules, and then those that stand for others
  local tare_text
  tare_text=$(tare_shown)
  tare_modules <<<"$tare_text"
  grep '(@[^()]*)$' <<<"$tare_text" | tare_names
}

tare_odd() { # names like those of MPIs in what is shown that hold other characters, such as quotes; lines with blanks are banners
  grep -iE "$tare_mpi" | sed 's/([^()]*)$//' | grep -vE '^[-=*#]|[[:space:]]|[:/]$' | grep -vxE '[A-Za-z0-9_.+@=/-]*'
}

tare_is_loaded() { # tare_is_loaded NAME BEFORE: whether it is loaded, where LOADEDMODULES was BEFORE
  case :$LOADEDMODULES: in *":$1:"* | *":$1/"*) return ;; esac
  [ "$LOADEDMODULES" != "$2" ] || module is-loaded "$1" </dev/null >/dev/null 2>&1
}

tare_entry() { # the entry of LOADEDMODULES that a name stands for: its own, or, of another name of a module, the last
  case :$LOADEDMODULES: in *":$1:"* | *":$1/"*) echo "$1" ;; *) echo "${LOADEDMODULES##*:}" ;; esac
}

tare_load() { # load modules, one after the other; false if one fails or makes others inactive, whose words are in $tare_words
  local tare_name tare_loaded tare_printed=$tare_folder/printed.$BASHPID tare_entries=()
  for tare_name in $1; do
    tare_loaded=$LOADEDMODULES
    module load "$tare_name" </dev/null >"$tare_printed" 2>&1 && ! grep -qE '^[^ ]*ERROR:|^Inactive Modules' "$tare_printed" &&
      tare_is_loaded "$tare_name" "$tare_loaded" && { tare_entries+=("$(tare_entry "$tare_name")"); continue; }
    tare_words=$(head -c 2000 "$tare_printed")
    return 1
  done
  for tare_name in "${tare_entries[@]}"; do # another version of a module may replace it
    case :$LOADEDMODULES: in *":$tare_name:"* | *":${tare_name%/*}/"*) continue ;; esac
    tare_words="it unloads $tare_name, which is loaded before it"
    return 1
  done
}

tare_purge() { # unload all modules; those of the shell in which this is called
  [ -z "$LOADEDMODULES" ] || module purge </dev/null >/dev/null 2>&1
}

tare_behind() { # tare_behind COMPILER FILE: print the modules named like MPIs that it shows, without those in FILE
  tare_load "$1" && tare_available | grep -iE "$tare_mpi" | grep -vxF -f "$2" | sed "s|^|$1 |"
}

tare_chains() { # lines of modules that are named like MPIs: those that need no other, those behind a compiler, and others that are seen
  tare_available >"$tare_folder/base"
  (tare_purge; tare_available) >"$tare_folder/bare"
  grep -iE "$tare_mpi" "$tare_folder/bare"
  [ -n "$tare_stack" ] || grep -iE "$tare_compiler" "$tare_folder/base" | head -n "$tare_most" | while read -r tare_first; do
    (tare_purge; tare_behind "$tare_first" "$tare_folder/bare") || (tare_behind "$tare_first" "$tare_folder/base")
  done | tee "$tare_folder/behind"
  { cat "$tare_folder/bare"; sed 's/.* //' "$tare_folder/behind"; } >"$tare_folder/known"
  grep -iE "$tare_mpi" "$tare_folder/base" | grep -vxF -f "$tare_folder/known"
}

tare_cray() { # print the MPI of Cray that a module brings: it has no mpirun, since the batch system starts its ranks
  case "${1##* }" in cray-mpich/*) ;; *) return 1 ;; esac
  [ -n "$CRAY_MPICH_VERSION" ] && [ -d "$CRAY_MPICH_DIR/bin" ] || return 1
  local tare_own=$CRAY_MPICH_DIR/bin
  printf 'cray\n%s\n' "$tare_own"
  ! is_usable "$tare_own/mpicc" || echo "$tare_own/mpicc"
  printf '\n%s\n' "$CRAY_MPICH_VERSION"
}

tare_look() { # load modules and print which MPI they make visible; what is loaded then is in a file
  tare_load "$1" || { printf 'failed\n%s\n' "$tare_words"; return; }
  hash -r
  local tare_mpirun tare_name
  tare_mpirun=$(type -P mpirun) || { tare_cray "$1" || echo none; return; }
  [ "$tare_mpirun" != "$tare_now" ] || { tare_cray "$1" || printf 'same\n%s\n' "$tare_mpirun"; return; }
  printf '%s\n' "$LOADEDMODULES" >"$tare_folder/loads"
  printf 'mpirun\n%s\n' "$tare_mpirun" | tr -d '\036'
  for tare_name in mpicc IMB-MPI1 osu_latency; do
    tare_name=$(type -P "$tare_name") && is_usable "$tare_name" && printf '%s\n' "$tare_name"
  done
  echo
  limit "$tare_mpirun" --version </dev/null 2>&1 | head -n 5 | tr -d '\036'
}

tare_seek() { # print what modules make visible; if loaded ones are in their way, what they do without these, and a record that says so
  local tare_found tare_alone
  tare_found=$(tare_look "$1")
  if [ -n "$LOADEDMODULES" ]; then
    tare_alone=$(tare_purge; hash -r; tare_now=$(type -P mpirun); tare_look "$1")
    case $tare_alone in
      "mpirun"$'\n'"$tare_before"$'\n'*) ;; # the one that is loaded
      "mpirun"$'\n'"$tare_now"$'\n'*) tare_found=$tare_alone ;; # the one that login scripts load, which define `module`
      mpirun* | cray*) [ "$tare_alone" = "$tare_found" ] || { printf '%s\n' "$tare_alone"; record "${tare_stack}purged $1"; echo yes; return; } ;;
    esac
  fi
  printf '%s\n' "$tare_found"
}

tare_brought() { # the loaded module without which mpirun is another or none; before it, those that it needs where none is loaded
  local tare_names=(${LOADEDMODULES//:/ }) tare_at tare_name
  for ((tare_at = ${#tare_names[@]} - 1; tare_at >= 0; tare_at--)); do
    tare_name=${tare_names[tare_at]}
    (module unload "$tare_name" </dev/null; hash -r; [ "$(type -P mpirun)" = "$tare_before" ]) >/dev/null 2>&1 && continue
    (module purge </dev/null; tare_load "$tare_name"; hash -r; [ "$(type -P mpirun)" = "$tare_before" ]) >/dev/null 2>&1 ||
      tare_name="${tare_names[*]:0:tare_at+1}"
    echo "$tare_name"
    return
  done
}

tare_folder=$(mktemp -d) || exit
trap 'rm -rf -- "$tare_folder"' EXIT
[ -n "$tare_has_module" ] || tare_find_module </dev/null >/dev/null 2>&1 || exit
hash -r
tare_now=$(type -P mpirun)
record "${tare_stack}modules system"; { echo "${LMOD_VERSION:+Lmod $LMOD_VERSION}"; module --version </dev/null 2>&1 | head -n 20; }
tare_chains >"$tare_folder/chains"
record "${tare_stack}modules count"; tare_shown | tare_modules | grep -c .
record "${tare_stack}modules programs"; grep -iE "$tare_programs" <"$tare_folder/base"
record "${tare_stack}modules skipped"; tail -n +"$((tare_most + 1))" "$tare_folder/chains"
record "${tare_stack}modules odd"; tare_shown | tare_odd | head -n "$tare_most"
record "${tare_stack}modules compilers"
[ -n "$tare_stack" ] || grep -iE "$tare_compiler" "$tare_folder/base" | tail -n +"$((tare_most + 1))"
head -n "$tare_most" "$tare_folder/chains" >"$tare_folder/tried"
while read -r tare_chain; do
  rm -f "$tare_folder/loads"
  record "${tare_stack}module $tare_chain"
  tare_seek "$tare_chain"
  if [ -s "$tare_folder/loads" ]; then record "${tare_stack}loads $tare_chain"; cat "$tare_folder/loads"; fi
  record "${tare_stack}looked $tare_chain"; echo yes
done <"$tare_folder/tried"
if [ -n "$tare_before" ] && [ -z "$tare_stack" ]; then record "modules brought"; tare_brought; fi
record "${tare_stack}modules end"; echo end
