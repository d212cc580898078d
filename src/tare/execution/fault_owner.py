"""Look at the infrastructure before a run that failed is called its program's fault.

A program cannot tell a link that is down from a peer that is slow: it waits, and is ended by its time-out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.errors import BackendError
from tare.core.job import Backend
from tare.probes.storage_space import lacking, room_script

_LEAST_HELD = 0.25
"""Of a run's time: what was held back for less had other reasons to come to its time-out."""

_IFF_UP = 0x1  # netdevice(7)
_CHECKS = {"", "timeout", "exit code", "transport"}
"""What a link that is down, or a host that is silent, looks like to whoever judges the run."""

_WRITERS_CHECKS = {*_CHECKS, "storage", "stage", "output", "complete"}
"""What a storage path without room looks like, of a run that writes there."""

_SCRIPT = """\
d=/sys/class/net/{interface}
if [ -e "$d/flags" ]; then echo "$(cat "$d/flags") $(cat "$d/carrier" 2>/dev/null)"; fi
"""


def owned(
    attempt: Attempt,
    backend: Backend,
    hosts: Sequence[str | None],
    interface: str | None,
    n_killed: int = 0,
    storage: str = "",
) -> Attempt:
    """Return `attempt` as the infrastructure's failure where its link is down by now, or a host silent.

    `interface` is that of its network on `hosts`. `n_killed` is how many processes the kernel ended meanwhile
    since memory ran out, which is told with the failure: the program itself may have taken it. `storage` is
    the storage path that it wrote to, which is the infrastructure's where it takes no files.
    """
    if attempt.state not in {State.FAILED, State.INVALID} or attempt.is_infrastructure:
        return attempt
    fault = _fault(backend, hosts, interface) if attempt.check in _CHECKS else ""
    fault = fault or _throttled(attempt)
    if fault:
        return _blamed(attempt, fault)
    if storage and attempt.check in _WRITERS_CHECKS:
        try:
            room = backend.ask(hosts, room_script(storage))
        except BackendError as error:
            return _blamed(attempt, f"when the run had ended, {error}")
        if (found := owned_by_storage(attempt, room, storage)) is not attempt:
            return found
    if n_killed and attempt.check in _CHECKS:
        told = "a process" if n_killed == 1 else f"{n_killed} processes"
        said = f"{attempt.reason}; meanwhile the kernel ended {told} of this machine, since memory ran out"
        return msgspec.structs.replace(attempt, reason=said)
    return attempt


def owned_by_storage(
    attempt: Attempt, said: Mapping[str | None, str] | Mapping[str, str], storage: str
) -> Attempt:
    """Return `attempt` as the failure of the storage path `storage` where that takes no files.

    `said` is what each host printed of it (see storage_room).
    """
    is_failed = attempt.state in {State.FAILED, State.INVALID} and not attempt.is_infrastructure
    if not is_failed or attempt.check not in _WRITERS_CHECKS:
        return attempt
    for host, text in said.items():
        if lack := lacking(text, attempt.reason):
            where = f" on {host}" if host else ""
            return _blamed(attempt, f"when the run had ended, storage path {storage} {lack}{where}")
    return attempt


def _blamed(attempt: Attempt, fault: str) -> Attempt:
    return msgspec.structs.replace(
        attempt,
        state=State.FAILED,
        reason=f"{fault}; {attempt.reason}",
        check="infrastructure",
        is_infrastructure=True,
        series=[],
    )


def n_oom_kills(record: Path = Path("/proc/vmstat")) -> int:
    """Return how many processes the kernel has ended for lack of memory since boot (proc(5), oom_kill)."""
    try:
        rows = (line.split() for line in record.read_text().splitlines())
        return next((int(row[1]) for row in rows if row[0] == "oom_kill"), 0)
    except (OSError, ValueError, IndexError):
        return 0


def _fault(backend: Backend, hosts: Sequence[str | None], interface: str | None) -> str:
    """Return what is broken by now, as a sentence; empty where nothing is seen to be."""
    script = _SCRIPT.format(interface=shlex.quote(interface)) if interface else "true"
    try:
        said = backend.ask(hosts, script)
    except BackendError as error:
        return f"when the run had ended, {error}"
    down = [host or "this machine" for host, text in said.items() if _is_down(text)]
    return f"when the run had ended, {interface} was down on {', '.join(down)}" if down else ""


def _throttled(attempt: Attempt) -> str:
    """Return that a limit of CPU held a run back which came to its time-out; empty where none did for long.

    It is a limit of what Tare works in on the nodes, such as a container or a slice: none of the run's.
    """
    held_s = attempt.telemetry.get("cpu_throttled", 0.0)
    if attempt.check != "timeout" or held_s < max(_LEAST_HELD * attempt.elapsed_s, 1.0):
        return ""
    return f"a CPU limit of the control groups that its nodes work in held threads back for {held_s:.3g} s"


def _is_down(text: str) -> bool:
    """Return whether flags and carrier, as sysfs has them, are those of an interface that is down."""
    flags, _, carrier = text.strip().partition(" ")
    try:
        return not int(flags, 16) & _IFF_UP or carrier.strip() == "0"
    except ValueError:
        return False  # there is none of this name, or it could not be read
