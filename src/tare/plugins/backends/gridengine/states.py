"""Map Grid Engine's job states to phases (qstat(1), sge_status(5), accounting(5)).

A new state is unknown, never success.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tare.core.units import whole_number
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.queue import Obstacle

TOO_FEW_NODES = 93
"""The exit code of a job that got fewer nodes than it asked for (see nodes.sh)."""

_TOO_FEW = (
    "on fewer nodes than it asked for: its parallel environment needs slots_per_node as its allocation_rule"
)
_KNOWN = frozenset("dEhrRstSTNPqwz")
_SUSPENDED = frozenset("sSTNP")
_DONE = 0
_AFTER_JOB = 100  # the job ran, and ended by a signal
_LIMIT = 37
_RESCHEDULED = 25
_SIGNAL_BASE = 128
_RUN_TIME = re.compile(r"\bh_rt=([0-9]{1,9})\b")


def phase_of(state: str) -> Phase:
    """Return the phase of a job from qstat's state letters, such as ``qw``, ``r`` and ``Eqw``.

    A job in error waits until a user clears the error (qmod -cj).
    """
    letters = set(state)
    if not letters or not letters <= _KNOWN:
        return Phase.UNKNOWN
    if "w" in letters:
        return Phase.QUEUED
    if "z" in letters:
        return Phase.ENDED
    if "d" in letters:
        return Phase.COMPLETING
    if letters & _SUSPENDED:
        return Phase.SUSPENDED
    return Phase.ACTIVE if letters & {"r", "t"} else Phase.UNKNOWN


def obstacle_of(state: str, job: str) -> Obstacle | None:
    """Return what keeps a queued job from starting until somebody acts: an error, or a hold."""
    if phase_of(state) is not Phase.QUEUED:
        return None
    if "E" in state:
        return Obstacle(f"it is in error: qmod -cj {job} lets it start once the cause is gone")
    return Obstacle(f"it is held: qrls {job} lets it start") if "h" in state else None


def is_out(state: str, *, is_disabled_out: bool) -> bool:
    """Return whether a queue instance is in error or its daemon does not answer.

    With `is_disabled_out`, disabled instances count, too.
    """
    return bool(set(state) & set("uE")) or (is_disabled_out and bool(set(state) & set("dD")))


def end_of(entry: Mapping[str, str]) -> tuple[Phase, str]:
    """Return how a job ended, from qacct's output: the phase, and a description.

    A deleted job and a job that reached a limit may both end by SIGKILL; the run time distinguishes them.
    """
    failed = whole_number(entry.get("failed", "").split(" ")[0])
    code = whole_number(entry.get("exit_status", "").split(" ")[0])
    values = {name: entry.get(name, "?").strip() for name in ("failed", "exit_status")}
    state = f"over: failed {values['failed']}, exit_status {values['exit_status']}"
    if failed == _DONE and code == TOO_FEW_NODES:
        return Phase.ENDED, _TOO_FEW
    if failed == _LIMIT or (failed == _AFTER_JOB and _is_at_limit(entry)):
        return Phase.TIMED_OUT, state
    if failed == _AFTER_JOB and code is not None and code > _SIGNAL_BASE:
        return Phase.CANCELLED, state
    if failed == _RESCHEDULED:
        return Phase.PREEMPTED, state
    return Phase.ENDED, state  # it is over: its own record shows whether it is complete


def _is_at_limit(entry: Mapping[str, str]) -> bool:
    limit = _RUN_TIME.search(entry.get("category", ""))
    elapsed_s = whole_number(entry.get("ru_wallclock", "").rstrip("s"))
    return limit is not None and elapsed_s is not None and elapsed_s >= int(limit[1])
