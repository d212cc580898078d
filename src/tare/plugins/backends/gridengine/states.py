"""What Grid Engine's job states mean to a run (qstat(1), sge_status(5), accounting(5)).

A state that is new is unknown, never success.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tare.core.units import whole_number
from tare.plugins.backends.batch.phases import Phase

TOO_FEW_NODES = 93
"""The exit code of a job that was given fewer nodes than it asked for (see nodes.sh)."""

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
    """Return the phase of a job whose state qstat writes in letters, such as ``qw``, ``r`` and ``Eqw``.

    One in error waits until somebody clears it (qmod -cj).
    """
    letters = set(state)
    if not letters or not letters <= _KNOWN:
        return Phase.UNKNOWN
    if "w" in letters:
        return Phase.QUEUED
    if "z" in letters:
        return Phase.ENDED
    if "d" in letters:
        return Phase.ENDING
    if letters & _SUSPENDED:
        return Phase.SUSPENDED
    return Phase.ACTIVE if letters & {"r", "t"} else Phase.UNKNOWN


def is_out(state: str, *, is_disabled_out: bool) -> bool:
    """Return whether a queue instance is in error, or its daemon is not heard of; disabled ones if asked."""
    return bool(set(state) & set("uE")) or (is_disabled_out and bool(set(state) & set("dD")))


def end_of(books: Mapping[str, str]) -> tuple[Phase, str]:
    """Return how a job ended by what qacct tells of it, and that in words.

    A deleted job and one that came to a limit may both end by SIGKILL: the time tells them apart.
    """
    failed = whole_number(books.get("failed", "").split(" ")[0])
    code = whole_number(books.get("exit_status", "").split(" ")[0])
    told = {name: books.get(name, "?").strip() for name in ("failed", "exit_status")}
    state = f"over: failed {told['failed']}, exit_status {told['exit_status']}"
    if failed == _DONE and code == TOO_FEW_NODES:
        return Phase.ENDED, _TOO_FEW
    if failed == _LIMIT or (failed == _AFTER_JOB and _is_at_limit(books)):
        return Phase.TIMED_OUT, state
    if failed == _AFTER_JOB and code is not None and code > _SIGNAL_BASE:
        return Phase.CANCELLED, state
    if failed == _RESCHEDULED:
        return Phase.PREEMPTED, state
    return Phase.ENDED, state  # it is over: its own record tells whether it came to its end


def _is_at_limit(books: Mapping[str, str]) -> bool:
    limit = _RUN_TIME.search(books.get("category", ""))
    elapsed_s = whole_number(books.get("ru_wallclock", "").rstrip("s"))
    return limit is not None and elapsed_s is not None and elapsed_s >= int(limit[1])
