"""Decide whether the infrastructure or the program caused the failure of a run.

A program cannot distinguish a link that is down from a slow peer: it waits until the time-out ends it. So,
after a failure, Tare checks the hosts, the interface of the network, CPU limits, and the storage path.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.errors import BackendError
from tare.core.job import Backend
from tare.core.kernel_files import read_kernel_file
from tare.probes.storage_space import storage_fault, storage_script

_LEAST_HELD = 0.25
"""A CPU limit that held threads back for less than this share of a run's time did not cause its time-out."""

_IFF_UP = 0x1  # netdevice(7)
_CHECKS = {"", "timeout", "exit code", "transport"}
"""The failed checks that a link that is down, or a host that does not answer, can cause."""

_WRITERS_CHECKS = {*_CHECKS, "storage", "stage", "output", "complete"}
"""The failed checks that a full storage path can cause, in a run that writes there."""

_SCRIPT = """\
d=/sys/class/net/{interface}
if [ -e "$d/flags" ]; then echo "$(cat "$d/flags") $(cat "$d/carrier" 2>/dev/null)"; fi
"""


def with_fault_owner(
    attempt: Attempt,
    backend: Backend,
    hosts: Sequence[str | None],
    interface: str | None,
    n_killed: int = 0,
    storage: str = "",
) -> Attempt:
    """Return a failed `attempt` as an infrastructure failure if the infrastructure caused it.

    That is so if the `interface` of its network is down on one of its `hosts`, a host does not answer, a CPU
    limit held it back until its time-out, or `storage`, the storage path to which it wrote, takes no files.
    `n_killed` is how many processes the kernel killed meanwhile for lack of memory. This is only added to the
    reason, because the program itself may have used the memory.
    """
    if attempt.state not in {State.FAILED, State.INVALID} or attempt.is_infrastructure:
        return attempt
    fault = _fault(backend, hosts, interface) if attempt.check in _CHECKS else ""
    fault = fault or _throttled(attempt)
    if fault:
        return _as_infrastructure(attempt, fault)
    if storage and attempt.check in _WRITERS_CHECKS:
        try:
            outputs = backend.ask(hosts, storage_script(storage))
        except BackendError as error:
            return _as_infrastructure(attempt, f"when the run had ended, {error}")
        if (found := with_storage_fault(attempt, outputs, storage)) is not attempt:
            return found
    if n_killed and attempt.check in _CHECKS:
        processes = "a process" if n_killed == 1 else f"{n_killed} processes"
        reason = (
            f"{attempt.reason}; meanwhile the kernel ended {processes} of this machine, since memory ran out"
        )
        return msgspec.structs.replace(attempt, reason=reason)
    return attempt


def with_storage_fault(
    attempt: Attempt, outputs: Mapping[str | None, str] | Mapping[str, str], storage: str
) -> Attempt:
    """Return a failed `attempt` as an infrastructure failure if the storage path `storage` takes no files.

    `outputs` is what the script of `probes.storage_space` printed on each host.
    """
    is_failed = attempt.state in {State.FAILED, State.INVALID} and not attempt.is_infrastructure
    if not is_failed or attempt.check not in _WRITERS_CHECKS:
        return attempt
    for host, text in outputs.items():
        if lack := storage_fault(text, attempt.reason):
            where = f" on {host}" if host else ""
            return _as_infrastructure(
                attempt, f"when the run had ended, storage path {storage} {lack}{where}"
            )
    return attempt


def _as_infrastructure(attempt: Attempt, fault: str) -> Attempt:
    return msgspec.structs.replace(
        attempt,
        state=State.FAILED,
        reason=f"{fault}; {attempt.reason}",
        check="infrastructure",
        is_infrastructure=True,
        series=[],
    )


def n_oom_kills(record: Path = Path("/proc/vmstat")) -> int:
    """Return how many processes the kernel has killed for lack of memory since boot (proc(5), oom_kill)."""
    try:
        _, _, rest = f"\n{read_kernel_file(str(record))}".partition("\noom_kill ")
        return int(rest.partition("\n")[0] or 0)
    except (OSError, ValueError):
        return 0


def _fault(backend: Backend, hosts: Sequence[str | None], interface: str | None) -> str:
    """Return which interface is down, or which host cannot be reached, as a sentence; empty if none."""
    script = _SCRIPT.format(interface=shlex.quote(interface)) if interface else "true"
    try:
        outputs = backend.ask(hosts, script)
    except BackendError as error:
        return f"when the run had ended, {error}"
    down = [host or "this machine" for host, text in outputs.items() if _is_down(text)]
    return f"when the run had ended, {interface} was down on {', '.join(down)}" if down else ""


def _throttled(attempt: Attempt) -> str:
    """Return a sentence if a CPU limit held a run back for long and the run timed out; else empty.

    The limit is that of the container or slice in which Tare works on the nodes, not one of the run.
    """
    held_s = attempt.telemetry.get("cpu_throttled", 0.0)
    if attempt.check != "timeout" or held_s < max(_LEAST_HELD * attempt.elapsed_s, 1.0):
        return ""
    return f"a CPU limit of the control groups that its nodes work in held threads back for {held_s:.3g} s"


def _is_down(text: str) -> bool:
    """Return whether flags and carrier, as sysfs gives them, show that an interface is down."""
    flags, _, carrier = text.strip().partition(" ")
    try:
        return not int(flags, 16) & _IFF_UP or carrier.strip() == "0"
    except ValueError:
        return False  # there is no interface of this name, or it could not be read
