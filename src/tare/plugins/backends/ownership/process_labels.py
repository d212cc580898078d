"""Find and end processes by the job label in their environment.

Every process of a job inherits ``TARE_JOB=<label>``, also across setsid(2), double forks and PID namespaces.
A scan of /proc therefore finds processes that have left the process group (Jenkins finds the orphans of its
builds in the same way). The module `sessions` parses labels. This module needs only the standard library and
core.job_label, because the guard runs it after its parent is gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":  # run by its path, without any package folder in sys.path (-I, -S)
    sys.path.append(str(Path(__file__).parents[4]))

from tare.core.job_label import KEEPER_VARIABLE
from tare.core.job_label import VARIABLE as VARIABLE

_CLEAN_UP_S = 3.0
"""The time that conmon gets to clean up after a container has ended."""


class LabelledProcess(NamedTuple):
    """A process that carries a job label, and its real user."""

    pid: int
    label: str
    uid: int


def labelled_processes(proc: Path = Path("/proc")) -> list[LabelledProcess]:
    """Return each labelled process, without this process, zombies and processes that /proc hides."""
    every = [*_labels(proc), *_labels(proc, KEEPER_VARIABLE)]
    return [
        LabelledProcess(pid, label, uid) for pid, label in every if (uid := _user_of(pid, proc)) is not None
    ]


def labelled_pids(scope: str, proc: Path = Path("/proc")) -> list[int]:
    """Return the pids whose label is within `scope`, without this process and zombies.

    A scope is either the label of one job, or a prefix that ends with a colon: one session, or all sessions
    of a campaign.
    """
    return [pid for pid, label in _labels(proc) if _is_within(label, scope)]


def _is_within(label: str, scope: str) -> bool:
    return label == scope or (scope.endswith(":") and label.startswith(scope))


def label_of(pid: int) -> str | None:
    """Return the label of `pid`, empty if it has none. Return None if its environment cannot be read."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    if not environ:
        return None
    return _label_in(environ, VARIABLE) or _label_in(environ, KEEPER_VARIABLE) or ""


def _label_in(environ: bytes, variable: str) -> str | None:
    """Return the first value of a variable, as getenv(3) does."""
    start = f"{variable}=".encode()
    for one in environ.split(b"\0") if start in environ else ():
        if one.startswith(start):
            return one[len(start) :].decode(errors="replace")
    return None


def _label(pid: int, variable: str, proc: Path = Path("/proc")) -> str | None:
    try:
        return _label_in((proc / f"{pid}/environ").read_bytes(), variable)
    except OSError:  # it has ended, or is another user's
        return None


def _labels(proc: Path, variable: str = VARIABLE) -> Iterator[tuple[int, str]]:
    for entry in os.scandir(proc):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            label = _label(int(entry.name), variable, proc)
            if label is not None:
                yield int(entry.name), label


def _user_of(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Return the real user of `pid` (proc(5)). Return None if the process has ended."""
    try:
        status = (proc / f"{pid}/status").read_text(errors="replace")
    except OSError:
        return None
    return int(status.partition("\nUid:")[2].split()[0])


def end_labelled(scope: str, within_s: float = 10.0, *, uid: int | None = None) -> int:
    """Kill every process within `scope` until three scans in a row find none. Return how many were killed.

    The scan is repeated because a process between fork and exec has no label of its own yet. With `uid`, only
    processes of this real user are killed.
    """

    def is_ours(pid: int, variable: str = VARIABLE) -> bool:
        label = _label(pid, variable)
        return label is not None and _is_within(label, scope) and uid in {None, _user_of(pid)}

    killed: set[int] = set()
    deadline = time.monotonic() + within_s
    clean_scans = 0
    while clean_scans < 3 and time.monotonic() < deadline:
        alive = [pid for pid in labelled_pids(scope) if is_ours(pid)]
        clean_scans = 0 if alive else clean_scans + 1
        killed.update(pid for pid in alive if _kill(pid, is_ours))
        time.sleep(0.02)
    return len(killed) + _end_monitors(lambda pid: is_ours(pid, KEEPER_VARIABLE))


def _kill(pid: int, is_meant: Callable[[int], bool]) -> bool:
    """Kill `pid` if it still is the process that was meant. Return whether it was.

    The pid file descriptor refers to the process that has the pid now. A later process with the same pid is
    not killed.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_meant(pid):
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:  # it has ended, or now belongs to another user
        return False
    finally:
        os.close(descriptor)
    return True


def _end_monitors(is_ours: Callable[[int], bool], proc: Path = Path("/proc")) -> int:
    """Kill each conmon that remains although its container has ended, with its children. Return how many.

    A podman that is killed while it starts a container leaves a conmon that waits for podman, a container
    that waits for its start, and no record of either.
    """
    deadline = time.monotonic() + _CLEAN_UP_S
    while keepers := [pid for pid, _ in _labels(proc, KEEPER_VARIABLE) if is_ours(pid)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    for keeper in keepers:
        _end_keeper(keeper, is_ours, proc)
    return len(keepers)


def _end_keeper(keeper: int, is_ours: Callable[[int], bool], proc: Path) -> None:
    """Kill a conmon, and then its children. In the other order, it would see them end and end by itself."""
    held: dict[int, int] = {}
    try:
        for child in _children(keeper, proc):
            with contextlib.suppress(OSError):
                held[child] = os.pidfd_open(child)
        own = _children(keeper, proc)  # children still listed now are the ones that the descriptors refer to
        if _kill(keeper, is_ours):
            for child in held.keys() & set(own):
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(held[child], signal.SIGKILL)
    finally:
        for descriptor in held.values():
            os.close(descriptor)


def _children(pid: int, proc: Path) -> list[int]:
    try:
        return [int(one) for one in (proc / f"{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def remote_end_script(scope: str, signal_name: str = "KILL") -> str:
    """Return shell text that signals all processes within `scope` on another host. It needs only sh and grep.

    A login shell that has not started the job yet carries no label. The label is in its command line, or in
    the variable that sshd(8) sets for it. A process that sshd starts at this moment has neither, so a final
    kill repeats the scan several times in half a second. Other signals are requests to end. The script does
    not send them to ssh, because ssh would end and leave the processes that it started.
    """
    label = f"{VARIABLE}={literal(scope)}"
    starting = f"exec env '\\{{0,1\\}}{label}"  # see remote.remote_command
    if not scope.endswith(":"):
        label, starting = f"{label}$", f"{starting}'\\{{0,1\\}} "
    patterns = (f"^{label}", f"^{starting}", f"^SSH_ORIGINAL_COMMAND={starting}")
    look = f"grep -lzs {' '.join(f'-e {shlex.quote(one)}' for one in patterns)}"
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


def literal(text: str) -> str:
    """Return the basic regular expression that matches `text` alone (grep(1))."""
    return re.sub(r"[][.*^$\\]", r"\\\g<0>", text)


def remote_list_script(campaign: str) -> str:
    """Return shell text that prints a campaign's labels on another host, for `labels_in` to parse."""
    found = shlex.quote(f"{VARIABLE}={literal(campaign)}:[0-9][[:alnum:]_.:/;-]*")
    return f"grep -ahosz -e {found} /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; true"


def labels_in(output: str) -> set[str]:
    """Return the labels in the output of `remote_list_script`."""
    found = (line.partition(f"{VARIABLE}=") for line in output.splitlines())
    return {label for _, variable, label in found if variable}


def main() -> None:
    """Guard a runner: wait until its pipe on standard input closes, then end what it left.

    Called as ``process_labels.py LABEL FOLDER [AGENT… -- HOST…]``. FOLDER holds the sockets of ssh's
    connections: the connections are closed and FOLDER is removed. Folders that were copied to the hosts are
    removed last. The guard ignores the signals that end the runner.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    label, folder, *rest = sys.argv[1:]
    sys.stdin.buffer.read()
    end_labelled(label)
    import subprocess  # imported late, so that the guard starts fast

    subprocess.call([sys.executable, "-P", "-m", "tare.plugins.backends.process.control_groups", label])
    if "--" in rest:
        _end_on_hosts(label, folder, rest[: rest.index("--")], rest[rest.index("--") + 1 :])
    subprocess.call([sys.executable, "-P", "-m", "tare.plugins.backends.hosts.own_storage", label])


def _end_on_hosts(label: str, sockets: str, agent: Sequence[str], hosts: Sequence[str]) -> None:
    """End what the runner left on hosts, and close the connections of ssh whose sockets are in a folder."""
    import subprocess

    from tare.plugins.backends.hosts.openssh import close_connections

    enders = [subprocess.Popen([*agent, host, remote_end_script(label)]) for host in hosts]
    for ender in enders:
        ender.wait()
    if sockets:
        close_connections(Path(sockets), agent[0], os.environ)


if __name__ == "__main__":
    main()
