"""Find and end what a finished job left on another host, with only the usual commands of a shell.

A process with the job's label is the job's. A process without any label, because its environment was emptied,
is taken for the job's if all of this holds: it belongs to this user, has no terminal, carries no label of
another job, started after the job, has outlived its parent, is no slurmstepd(8) of Slurm itself, and works in
the folder that only this attempt uses. Instead of the last condition, this also counts: it is in the control
group that systemd-logind(8) made for the very ssh connection of this scan, and lacks the variable
SSH_CONNECTION that sshd(8) gives to all processes of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tare.plugins.backends.ownership.process_labels import VARIABLE, literal

TASK = "TARE_TASK"
"""The variable that labels a batch system's task with its name.

It names no session, because a task may outlive the session that submitted it.
"""

_FOUND, _LEFT = "tare-found", "tare-left"

SWEEP = (
    r"""
own=$(grep -o ':[^:]*/session-[^/]*\.scope$' /proc/self/cgroup 2>/dev/null | head -n 1)
ticks=$(getconf CLK_TCK 2>/dev/null || echo 100)
read -r up _ </proc/uptime; begun=$(( ${begun:-$((${up%%.*}${up#*.} - since))} * ticks / 100 ))
real=$(cd -- "$folder" 2>/dev/null && pwd -P) || real=$folder
labelled() { grep -lzs -e "$label_pattern" /proc/[0-9]*/environ | tr -dc '0-9\n'; }
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
  [ "$(cat "/proc/$1/comm" 2>/dev/null)" != slurmstepd ] || return 1 # it is there while it starts a step
  grep -qzs -e '^@VARIABLE@=' -e '^@TASK@=' "/proc/$1/environ" && return 1
  [ "$2" = folder ] || ! grep -qzs -e '^SSH_CONNECTION=' "/proc/$1/environ" || return 1
  s=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- ${s##*) }
  [ "$1" != Z ] && [ "$5" = 0 ] && [ "${20}" -ge "$begun" ] || return 1
  [ "$2" = 1 ] || [ "$(cat "/proc/$2/comm" 2>/dev/null)" = systemd ]
}
strays() { lost | while read -r p why; do is_stray "$p" "$why" && echo "$p"; done; }
report() { printf '%s %s ' "$1" "$2"; tr '\0\n' '  ' <"/proc/$2/cmdline" 2>/dev/null; echo; }
seen=' '; n=0
while [ $((n += 1)) -le 10 ]; do
  left=
  for p in $(labelled; strays); do
    [ -n "$spared" ] && [ "$(cat "/proc/$p/comm" 2>/dev/null)" = "$spared" ] && continue
    left="$left $p"
    case "$seen" in *" $p "*) ;; *) seen="$seen$p "; report @FOUND@ "$p" ;; esac
    kill -KILL "$p" 2>/dev/null
  done
  [ -n "$left" ] || break
  sleep 0.1 2>/dev/null || sleep 1
done
for p in $left; do report @LEFT@ "$p"; done
true
""".replace("@VARIABLE@", VARIABLE)
    .replace("@TASK@", TASK)
    .replace("@FOUND@", _FOUND)
    .replace("@LEFT@", _LEFT)
)


class SweepResult(NamedTuple):
    """The processes that a job left, as pid, command and host: all found ones, and those that do not end."""

    found: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def sweep_script(
    label: str, folder: str, since_s: float, begun_up_s: float | None = None, spared: str = ""
) -> str:
    """Return shell text that kills what the job of this label, which began `since_s` seconds ago, has left.

    `folder` is the job's working folder. `begun_up_s` is the job's start by the host's uptime, if known.
    Without it, the start is computed from `since_s` on the host. It is then too late by the time that the
    connection took, and processes that started in that time are not found. Programs with the name `spared`
    are left alone. The script prints what `swept` parses. It scans only once if nothing is left.
    """
    given = {
        "label_pattern": f"^{VARIABLE}={literal(label)}$",
        "folder": folder,
        "since": str(_hundredths(since_s)),
        "spared": spared,
        "begun": "" if begun_up_s is None else str(_hundredths(begun_up_s)),
    }
    return "; ".join(f"{name}={shlex.quote(value)}" for name, value in given.items()) + SWEEP


def _hundredths(seconds: float) -> int:
    return max(int(seconds * 100 + 0.5), 0)


def of_task(name: str, folder: str) -> str:
    """Return shell text that sets the variables of `SWEEP` for a task of a batch system.

    The job's own script sets `since`, in hundredths of a second.
    """
    given = {"label_pattern": f"^{TASK}={literal(name)}$", "folder": folder, "begun": "", "spared": ""}
    return "; ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())


def swept(outputs: Mapping[str, str]) -> SweepResult:
    """Parse the output of the script on each host."""
    return SweepResult(tuple(_named(outputs, _FOUND)), tuple(_named(outputs, _LEFT)))


def _named(outputs: Mapping[str, str], kind: str) -> Iterator[str]:
    for host, output in outputs.items():
        for line in output.splitlines():
            words = line.split(" ", 2)
            if len(words) == 3 and words[0] == kind and words[1].isdigit():
                yield f"{words[1]} ({words[2].strip()[:120]}) on {host}"
