"""Find and end processes by the mark that their environment carries.

Every process of a job inherits ``TARE_JOB=<label>``, also across setsid(2), double forks and PID
namespaces, so that a scan of /proc finds what a process group would miss (Jenkins finds the orphans
of its builds in the same way). The module is stdlib-only: the guard runs it after its parent is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "TARE_JOB"


def new_prefix(campaign: str) -> str:
    """Return the prefix of the labels of this process's jobs: the campaign's own, then who runs it."""
    return f"{campaign}:{os.getpid()}:{_start_time(os.getpid())}:"


def orphaned(proc: Path = Path("/proc")) -> list[tuple[int, str]]:
    """Return the pid and label of each marked process whose tare is gone."""
    return [(pid, label) for pid, label in _labels(proc) if is_orphaned(label)]


def is_orphaned(label: str) -> bool:
    """Return whether the tare that gave this label is gone."""
    parts = label.split(":")
    return len(parts) < 4 or not parts[1].isdigit() or str(_start_time(int(parts[1]))) != parts[2]


def marked(label_prefix: str, proc: Path = Path("/proc")) -> list[int]:
    """Return the pids whose label starts with `label_prefix`, this process and zombies left out."""
    return [pid for pid, label in _labels(proc) if label.startswith(label_prefix)]


def _labels(proc: Path) -> Iterator[tuple[int, str]]:
    mark = f"{VARIABLE}=".encode()
    for entry in os.scandir(proc):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environ = (proc / entry.name / "environ").read_bytes()
        except OSError:  # it has ended, or is another user's
            continue
        for variable in environ.split(b"\0") if mark in environ else ():
            if variable.startswith(mark):
                yield int(entry.name), variable[len(mark) :].decode(errors="replace")


def _start_time(pid: int) -> int | None:
    """Return when `pid` started, in clock ticks since boot (field 22 of /proc/PID/stat, proc(5))."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def end_marked(label_prefix: str, within_s: float = 10.0) -> int:
    """Kill every marked process until three scans in a row find none; return how many were killed.

    A process that is between fork and exec has no mark of its own yet: hence the repeated scan.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + within_s
    clean_scans = 0
    while clean_scans < 3 and time.monotonic() < deadline:
        alive = marked(label_prefix)
        clean_scans = 0 if alive else clean_scans + 1
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.add(pid)
        time.sleep(0.02)
    return len(killed)


def remote_end_script(label_prefix: str) -> str:
    """Return shell text that does the same on another host, with nothing but sh and grep."""
    mark = f"^{VARIABLE}={label_prefix}".replace("'", "")
    return (
        f"for n in 1 2 3; do for f in $(grep -lzs '{mark}' /proc/[0-9]*/environ); do "
        'p=${f#/proc/}; p=${p%/environ}; [ "$p" != $$ ] && kill -9 "$p" 2>/dev/null; done; done; true'
    )


def main() -> None:
    """Guard a runner: wait for the end of its pipe on standard input, then end what it left.

    Called as ``marks.py LABEL [AGENT… -- HOST…]``. Survives the signals that end the runner.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    label = sys.argv[1]
    sys.stdin.buffer.read()
    end_marked(label)
    rest = sys.argv[2:]
    if "--" in rest:
        agent, hosts = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
        for host in hosts:
            if os.fork() == 0:
                os.execvp(agent[0], [*agent, host, remote_end_script(label)])  # noqa: S606  # no shell here


if __name__ == "__main__":
    main()
