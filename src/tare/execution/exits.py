"""Judge how the programs of an attempt ended: exit codes, signals, time-outs, and what outlived the ranks."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tare.core.attempt import State
from tare.core.counting import count
from tare.core.job import Exit
from tare.core.program import PROLOGUE, around_of
from tare.execution.failure_reasons import abort_of, error_of, outputs_of, own_end_of, reason_of

_FATAL = (
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGKILL,
    signal.SIGSEGV,
    signal.SIGPIPE,
    signal.SIGTERM,
    signal.SIGXCPU,
    signal.SIGXFSZ,
)
"""Signals whose number, added to 128, is an exit code of shells and launchers."""

_MOST_NAMED = 5
"""How many processes a reason names at most."""


class Outcome(NamedTuple):
    """The state of a judged attempt, with the reason and the name of the check that failed."""

    state: State
    reason: str = ""
    check: str = ""
    is_infrastructure: bool = False


class StagesEnd(NamedTuple):
    """How the last stage that ran ended; `missing` names the product that it should have made and did not."""

    exit: Exit
    stdout: str
    stderr: str
    stage: str
    missing: str = ""


def judge_exit(end: StagesEnd, timeout_s: float, work: Path, output: str = "") -> Outcome | None:
    """Return why the programs failed, or None if all of them succeeded.

    `output` is the file to which the workload writes its figures. It may also hold the error message. A
    failure of the prologue is one of the infrastructure. One of the epilogue is not, since it may check the
    results.
    """
    around = around_of(end.stage)
    if around is None:
        return _judge_exit(end, timeout_s, work, output, f"stage {end.stage} " if end.stage else "")
    failed = _judge_exit(end, timeout_s, work, "", f"command {around.number} of the {around.kind}: ")
    is_before = around.kind == PROLOGUE  # no program has run: this says nothing about it
    return failed and failed._replace(
        check=around.kind, is_infrastructure=failed.is_infrastructure or is_before
    )


def _judge_exit(end: StagesEnd, timeout_s: float, work: Path, output: str, where: str) -> Outcome | None:
    """Return why the programs failed, with `where` in front of the reason, or None (see judge_exit)."""
    ended = end.exit
    names = list(outputs_of(work, end.stdout, end.stderr, output))
    if ended.fault:
        return Outcome(
            State.FAILED, f"{where}{ended.fault}{_error_printed(work, names)}", is_infrastructure=True
        )
    if ended.excess:
        return Outcome(State.FAILED, f"{where}{ended.excess}", "output")
    if ended.is_timeout:
        error = error_of(work, names)
        printed = f"; it had printed: {error}" if error else ""
        why = f"{where}was still running after {timeout_s:g} s and was ended (time-out){printed}"
        return Outcome(State.FAILED, why, "timeout")
    if ended.signal is not None:
        return Outcome(State.FAILED, f"{where}{_signalled(ended.signal, work, names)}")
    if end.missing:
        return Outcome(State.FAILED, f"{where}{end.missing}{_error_printed(work, names)}", "stage")
    if ended.code != 0:
        code = f"exit code {ended.code}{_signal_of_code(ended.code)}"
        printed = _error_printed(work, names) or (
            "" if _has_printed(work, names) else ", and nothing was printed"
        )
        return Outcome(State.FAILED, f"{where}{code}{printed}", "exit code")
    if aborted := abort_of(work, (end.stderr, end.stdout)):
        return Outcome(State.FAILED, f"{where}the exit code is 0, but {aborted}", "exit code")
    return None


def judge_survivors(outcome: Outcome, ended: Exit) -> Outcome:
    """Return `outcome`, or make the run invalid if processes outlived its ranks.

    Lingerers delayed the launcher's exit and were then ended: the run took longer because of them. Survivors
    could not be ended and may disturb this and other runs.
    """
    if ended.lingerers:
        what = f"{_LINGERED} {_named(ended.lingerers)}: left behind, it held the launcher up"
        outcome = _invalidated(outcome, what, "lingerers")
    if ended.survivors:
        n = len(ended.survivors)
        what = f"{count(n, 'process', 'processes')} {_SURVIVED}: "
        outcome = _invalidated(outcome, what + _named(ended.survivors), "survivors")
    return outcome


_LINGERED = "its ranks had ended, but not"
_SURVIVED = "could not be ended and may slow this and other runs"


def tells_of_outliving(reason: str) -> bool:
    """Return whether the reason of an attempt says that processes outlived its ranks (judge_survivors)."""
    return _LINGERED in reason or _SURVIVED in reason


def _named(processes: Sequence[str]) -> str:
    more = len(processes) - _MOST_NAMED
    return ", ".join(processes[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _invalidated(outcome: Outcome, what: str, check: str) -> Outcome:
    """Return a done outcome as invalid because of `what`; append `what` to the reason of any other."""
    if outcome.state is State.DONE:
        return Outcome(State.INVALID, what, check=check)
    return outcome._replace(reason=f"{outcome.reason}; {what}")


def _error_printed(work: Path, names: Sequence[str]) -> str:
    """Return the error that the program printed in these files, with a colon before it; empty if none."""
    reason = reason_of(work, names)
    return f": {reason}" if reason else ""


def _signalled(number: int, work: Path, names: Sequence[str]) -> str:
    """Return how the programs ended, of which one was ended by a signal.

    If a rank had failed by itself, that is how: its launcher ended the others by SIGTERM or SIGKILL.
    """
    how = f"ended by signal {signal_name(number)}"
    own = own_end_of(work, names) if number in {signal.SIGTERM, signal.SIGKILL} else ""
    reason = reason_of(work, names)
    return reason if own and reason.startswith(own) else f"{own or how}{f': {reason}' if reason else ''}"


def _has_printed(work: Path, names: Sequence[str]) -> bool:
    """Return whether the program printed anything; True also if its output files are not here."""
    sizes = [(work / name).stat().st_size for name in names if (work / name).is_file()]
    return any(sizes) or not sizes


def _signal_of_code(code: int | None) -> str:
    """Return the signal behind an exit code of 128 + N, as shells and launchers set it; empty if none."""
    names = [one.name for one in _FATAL if code == 128 + one]
    return f" (128 + {names[0]})" if names else ""


def signal_name(number: int) -> str:
    """Return the name of a signal, such as SIGSEGV; its number if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
