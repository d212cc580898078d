"""Find and end processes by the mark that their environment carries.

Every process of a job inherits ``TARE_JOB=<label>``, also across setsid(2), double forks and PID
namespaces, so that a scan of /proc finds what a process group would miss (Jenkins finds the orphans
of its builds in the same way). The module is stdlib-only: the guard runs it after its parent is gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "TARE_JOB"

_KEEPER_VARIABLE = f"LC_{VARIABLE}"
"""The mark of conmon, which watches a container: podman hands on to it only LC_* of the environment."""

_CLEAN_UP_S = 3.0
"""How long conmon may take to clean up after a container that has ended."""


def new_prefix(campaign: str) -> str:
    """Return the prefix of the labels of this process's jobs: the campaign's own, then who runs it."""
    return f"{campaign}:{os.getpid()}:{_start_time(os.getpid())}:"


def orphaned(proc: Path = Path("/proc")) -> list[tuple[int, str]]:
    """Return the pid and label of each marked process whose tare is gone."""
    every = [*_labels(proc), *_labels(proc, _KEEPER_VARIABLE)]
    return [(pid, label) for pid, label in every if is_orphaned(label)]


def is_orphaned(label: str) -> bool:
    """Return whether the tare that gave this label is gone."""
    parts = label.split(":")
    return len(parts) < 4 or not parts[1].isdigit() or str(_start_time(int(parts[1]))) != parts[2]


def marked(label_prefix: str, proc: Path = Path("/proc")) -> list[int]:
    """Return the pids whose label starts with `label_prefix`, this process and zombies left out."""
    return [pid for pid, label in _labels(proc) if label.startswith(label_prefix)]


def label_of(pid: int) -> str | None:
    """Return the label that `pid` carries, empty where it has none; None where its memory cannot be read."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    for one in environ.split(b"\0"):
        name, _, label = one.partition(b"=")
        if name in {VARIABLE.encode(), _KEEPER_VARIABLE.encode()}:
            return label.decode(errors="replace")
    return "" if environ else None


def _labels(proc: Path, variable: str = VARIABLE) -> Iterator[tuple[int, str]]:
    mark = f"{variable}=".encode()
    for entry in os.scandir(proc):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environ = (proc / entry.name / "environ").read_bytes()
        except OSError:  # it has ended, or is another user's
            continue
        for one in environ.split(b"\0") if mark in environ else ():
            if one.startswith(mark):
                yield int(entry.name), one[len(mark) :].decode(errors="replace")


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
    return len(killed) + _end_keepers(label_prefix)


def _end_keepers(label_prefix: str, proc: Path = Path("/proc")) -> int:
    """Kill each conmon that stays though its container has ended, with its children; return how many.

    A podman that is killed while it starts a container leaves a conmon that waits for it, a container that
    waits to be started, and no record of either.
    """
    deadline = time.monotonic() + _CLEAN_UP_S
    while keepers := [
        pid for pid, label in _labels(proc, _KEEPER_VARIABLE) if label.startswith(label_prefix)
    ]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    for pid in [one for keeper in keepers for one in (*_children(keeper, proc), keeper)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(keepers)


def _children(pid: int, proc: Path) -> list[int]:
    try:
        return [int(one) for one in (proc / f"{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def remote_end_script(label_prefix: str, signal_name: str = "KILL") -> str:
    """Return shell text that signals what is so marked on another host, with nothing but sh and grep.

    A login shell that has yet to start the job has no mark, but its command has, or what sshd(8) tells it.
    What sshd starts meanwhile has neither, so before it kills for good, it looks again, some times in half a
    second. Other signals are a request, to which an ssh would answer by leaving what it has started; so it
    gets none.
    """
    label = f"{VARIABLE}={label_prefix}".replace("'", "")
    starting = f"exec env .\\{{0,1\\}}{label}"  # see remote.remote_command
    look = f"grep -lzs -e '^{label}' -e '^{starting}' -e '^SSH_ORIGINAL_COMMAND={starting}'"
    is_kill = signal_name == "KILL"
    spared = "" if is_kill else '; [ "$(cat "/proc/$p/comm" 2>/dev/null)" = ssh ] && continue'
    again = "sleep 0.15 2>/dev/null || sleep 1; " if is_kill else ""
    return (
        f"for n in {'1 2 3 4' if is_kill else '1'}; do "
        f"for f in $({look} /proc/[0-9]*/environ /proc/[0-9]*/cmdline); do "
        f"p=${{f#/proc/}}; p=${{p%/*}}{spared}; "
        f'[ "$p" != $$ ] && kill -{signal_name} "$p" 2>/dev/null; '
        f"done; {again}done; true"
    )


def main() -> None:
    """Guard a runner: wait for the end of its pipe on standard input, then end what it left.

    Called as ``marks.py LABEL FOLDER [AGENT… -- HOST…]``; the sockets of ssh's connections in FOLDER are
    closed, and it is removed. What was staged to the hosts is removed last. Survives the signals that end the
    runner.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    label, folder, *rest = sys.argv[1:]
    sys.stdin.buffer.read()
    end_marked(label)
    import subprocess  # a guard that has nothing to do starts without it

    subprocess.call([sys.executable, "-P", "-m", "tare.backends.control_groups", label])
    if "--" not in rest:
        _remove_own_storage(label)
        return
    agent, hosts = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    enders = [subprocess.Popen([*agent, host, remote_end_script(label)]) for host in hosts]
    for ender in enders:
        ender.wait()
    if folder:
        import shutil

        for path in Path(folder).iterdir():
            if path.is_socket():
                words = [agent[0], "-F", "none", "-o", f"ControlPath={path}", "-O", "exit", "tare"]
                subprocess.call(words)
        shutil.rmtree(folder, ignore_errors=True)
    subprocess.call([sys.executable, "-P", "-m", "tare.backends.staged", label])
    _remove_own_storage(label)


def _remove_own_storage(label: str) -> None:
    """Remove the folders that the runner's runs had on storage paths."""
    import subprocess

    subprocess.call([sys.executable, "-P", "-m", "tare.backends.own_storage", label])


if __name__ == "__main__":
    main()
