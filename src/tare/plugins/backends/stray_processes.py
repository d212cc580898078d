"""Find and end what a job that is over has left on another host, with nothing but a shell's usual commands.

What carries the job's mark is the job's. A process that lost the mark, since its environment was emptied, is
taken for the job's where all of this holds: it is this user's, no terminal's, carries no mark of another job,
started after the job, has outlived its parent, and works in the folder that this attempt alone works in. Or,
in place of the last: it is in the control group of an ssh session, which systemd-logind(8) has made for the
very connection that this looks through, and lacks the SSH_CONNECTION that sshd(8) gives to all in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tare.plugins.backends.process_labels import VARIABLE, literal

TASK = "TARE_TASK"
"""The mark of a task of a batch system, which is its name: no session's, since it outlives who queued it."""

_FOUND, _LEFT = "tare-found", "tare-left"

SWEEP = (
    r"""
own=$(grep -o ':[^:]*/session-[^/]*\.scope$' /proc/self/cgroup 2>/dev/null | head -n 1)
ticks=$(getconf CLK_TCK 2>/dev/null || echo 100)
read -r up _ </proc/uptime; begun=$(( ${begun:-$((${up%%.*}${up#*.} - since))} * ticks / 100 ))
real=$(cd -- "$folder" 2>/dev/null && pwd -P) || real=$folder
marked() { grep -lzs -e "$mark" /proc/[0-9]*/environ | tr -dc '0-9\n'; }
lost() { # whatever its environment: each with why it may be the job's
  [ "${#real}" -gt 1 ] && ls -ld /proc/[0-9]*/cwd 2>/dev/null | while IFS= read -r line; do
    case "${line#* -> }" in
      "$real" | "$real/"* | "$real (deleted)") p=${line%%/cwd -> *}; echo "${p##*/} folder" ;;
    esac
  done
  [ -z "$own" ] || grep -lsF -e "$own" /proc/[0-9]*/cgroup | sed 's#^/proc/\([0-9]*\)/.*#\1 session#'
}
is_stray() { # is_stray PID EVIDENCE
  [ -O "/proc/$1" ] && [ "$1" != $$ ] || return 1
  grep -qzs -e '^@VARIABLE@=' -e '^@TASK@=' "/proc/$1/environ" && return 1
  [ "$2" = folder ] || ! grep -qzs -e '^SSH_CONNECTION=' "/proc/$1/environ" || return 1
  s=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- ${s##*) }
  [ "$1" != Z ] && [ "$5" = 0 ] && [ "${20}" -ge "$begun" ] || return 1
  [ "$2" = 1 ] || [ "$(cat "/proc/$2/comm" 2>/dev/null)" = systemd ]
}
strays() { lost | while read -r p why; do is_stray "$p" "$why" && echo "$p"; done; }
tell() { printf '%s %s ' "$1" "$2"; tr '\0\n' '  ' <"/proc/$2/cmdline" 2>/dev/null; echo; }
seen=' '; n=0
while [ $((n += 1)) -le 10 ]; do
  left=
  for p in $(marked; strays); do
    [ -n "$spared" ] && [ "$(cat "/proc/$p/comm" 2>/dev/null)" = "$spared" ] && continue
    left="$left $p"
    case "$seen" in *" $p "*) ;; *) seen="$seen$p "; tell @FOUND@ "$p" ;; esac
    kill -KILL "$p" 2>/dev/null
  done
  [ -n "$left" ] || break
  sleep 0.1 2>/dev/null || sleep 1
done
for p in $left; do tell @LEFT@ "$p"; done
true
""".replace("@VARIABLE@", VARIABLE)
    .replace("@TASK@", TASK)
    .replace("@FOUND@", _FOUND)
    .replace("@LEFT@", _LEFT)
)


class SweepResult(NamedTuple):
    """What a job had left, by pid, command and host: all that was found, and what does not end."""

    found: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def sweep_script(
    label: str, folder: str, since_s: float, begun_up_s: float | None = None, spared: str = ""
) -> str:
    """Return shell text that kills what the job of this label, which began `since_s` ago, has left.

    `folder` is where it worked. `begun_up_s` is when it began by the uptime of the host, where that is known:
    the way there takes its time, and what started meanwhile is not found. Programs of the name `spared` are
    none of it. It prints what `swept` reads; where nothing is left it looks once.
    """
    given = {
        "mark": f"^{VARIABLE}={literal(label)}$",
        "folder": folder,
        "since": str(_hundredths(since_s)),
        "spared": spared,
        "begun": "" if begun_up_s is None else str(_hundredths(begun_up_s)),
    }
    return "; ".join(f"{name}={shlex.quote(value)}" for name, value in given.items()) + SWEEP


def _hundredths(seconds: float) -> int:
    return max(int(seconds * 100 + 0.5), 0)


def of_task(name: str, folder: str) -> str:
    """Return shell text that names a task of a batch system to `SWEEP`.

    The job that it is in sets `since`, in hundredths of a second.
    """
    given = {"mark": f"^{TASK}={literal(name)}$", "folder": folder, "begun": "", "spared": ""}
    return "; ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())


def swept(told: Mapping[str, str]) -> SweepResult:
    """Return what the script has printed on hosts."""
    return SweepResult(tuple(_named(told, _FOUND)), tuple(_named(told, _LEFT)))


def _named(told: Mapping[str, str], kind: str) -> Iterator[str]:
    for host, said in told.items():
        for line in said.splitlines():
            words = line.split(" ", 2)
            if len(words) == 3 and words[0] == kind and words[1].isdigit():
                yield f"{words[1]} ({words[2].strip()[:120]}) on {host}"
