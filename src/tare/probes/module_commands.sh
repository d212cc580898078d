# Define the commands 'module' and 'spack' in this bash, where neither the environment nor a setup line does.

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
