"""Read what a task left in its folder (job.sh describes it), and determine how the task ended."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from tare.core.counting import count
from tare.core.job import Exit
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import Held, JobResult, Task
from tare.core.telemetry import Epoch
from tare.core.units import whole_number
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.ownership.stray_processes import swept
from tare.probes.records import read_records

_TIMED_OUT = {124, 137}  # timeout(1): after SIGTERM, and after SIGKILL
_SIGNAL_BASE, _LAST_SIGNAL = 128, 64
_MOST_CHARACTERS = 10_000
_MOST_RECORD = 16 * 1024 * 1024  # bytes; a line for each step and each node
_TIME = re.compile(r"[0-9]{1,12}(?:[.,][0-9]{0,9})?")


class _StepEnd(NamedTuple):
    name: str
    code: int
    began_at: float
    elapsed_s: float
    clock_set_s: float = 0.0


class Progress(msgspec.Struct, frozen=True):
    """The record of a task: whether it is complete, when the task began, and the steps that have ended."""

    is_complete: bool
    began_at: float | None = None
    steps: tuple[_StepEnd, ...] = ()

    @property
    def elapsed_s(self) -> float:
        """Return the total time of the steps, in seconds."""
        return sum(step.elapsed_s for step in self.steps)

    def elapsed_until(self, now: float) -> float:
        """Return the total time of the steps, with that of a step that has not ended by `now`, a time(2)."""
        last_at = max((step.began_at + step.elapsed_s for step in self.steps), default=self.began_at)
        return self.elapsed_s + (0.0 if last_at is None else max(now - last_at, 0.0))

    @property
    def clock_set_s(self) -> float:
        """Return the largest change of the wall clock during a step, in seconds. Forward is positive."""
        return max((step.clock_set_s for step in self.steps), key=abs, default=0.0)


def read_progress(folder: Path) -> Progress | None:
    """Return how far the task in `folder` came. Return None if it has not begun."""
    return read_complete(folder) or _read(folder, "progress", is_complete=False)


def read_complete(folder: Path) -> Progress | None:
    """Return the record of the task in `folder` if the task is complete, else None."""
    found = _read(folder, "landed", is_complete=True)
    return found if found is not None and found.is_complete else None


def _read(folder: Path, name: str, *, is_complete: bool) -> Progress | None:
    if not (folder / name).exists():  # one stat(2): of a thousand records, most are not there yet
        return None
    try:
        record = SafeFolder(folder, name).read(_MOST_RECORD)
        return _parse(record.decode(errors="replace"), is_complete=is_complete)
    except OSError:
        return None


def is_own_folder(task: Task, folder: str) -> bool:
    """Return whether `folder` can be the task's folder on its storage path, of this or an earlier session.

    A folder's name holds the session, the case and the attempt (see execution.own_storage.owner_of).
    """
    own, path = PurePosixPath(task.own_storage), PurePosixPath(folder)
    whose = own.name.split("-", 2)
    name = path.name.split("-", 2)
    return (
        bool(task.own_storage)
        and path.parent == own.parent
        and (len(name) == 3 and (name[0], name[2]) == (whose[0], whose[-1]))
    )


def result_of(task: Task, progress: Progress) -> JobResult:
    """Return the result of a task that is complete."""
    last = progress.steps[-1]
    is_timeout = last.code in _TIMED_OUT and last.elapsed_s > 0 and progress.elapsed_s >= task.timeout_s - 1
    is_signal = not is_timeout and 0 < last.code - _SIGNAL_BASE <= _LAST_SIGNAL
    ended = Exit(
        code=None if is_timeout or is_signal else last.code,
        signal=last.code - _SIGNAL_BASE if is_signal else None,
        is_timeout=is_timeout,
        elapsed_s=progress.elapsed_s,
    )
    return _result(task, progress, ended)


def held(task: Task) -> Held | None:
    """Return since when a task has had its nodes, by the first one's clock; None if it has not begun."""
    progress = read_progress(task.folder)
    if progress is None or progress.began_at is None:
        return None
    return Held(progress.began_at, tuple(sorted(_read_probe(task.folder, "before"), key=_natural)))


def result_without_record(
    task: Task,
    progress: Progress | None,
    phase: Phase,
    why: str,
    cancelled: str = "cancelled",
    *,
    over_at: float | None = None,
) -> JobResult:
    """Return the result of a task whose job is over although the task is not complete.

    `why` is the batch system's description of the job. `cancelled` names what can have cancelled it.
    `over_at` is when it was seen to be over, in seconds since the epoch. Only failures of the nodes or the
    queue are the infrastructure's fault and are tried again. A cancellation is not: somebody had a reason for
    it.
    """
    elapsed_s = progress.elapsed_s if progress else 0.0
    if progress is not None and over_at is not None and len(progress.steps) < len(task.steps):
        elapsed_s = min(progress.elapsed_until(over_at), max(task.timeout_s, elapsed_s))
    match phase:
        case Phase.CANCELLED:
            ended, reason = Exit(elapsed_s=elapsed_s), f"{why}: {cancelled}"
        case Phase.OUT_OF_MEMORY:
            ended, reason = Exit(elapsed_s=elapsed_s), f"{why}: it took more memory than the job had"
        case Phase.TIMED_OUT if progress and len(progress.steps) >= len(task.steps):
            fault = f"{why}, though the run's programs had ended: what is done after them did not"
            ended, reason = Exit(fault=fault, elapsed_s=elapsed_s), ""
        case Phase.TIMED_OUT if progress:
            ended, reason = Exit(is_timeout=True, elapsed_s=elapsed_s), ""
        case Phase.PREEMPTED:
            ended, reason = Exit(fault=f"{why}: preempted by another job", elapsed_s=elapsed_s), ""
        case Phase.NODE_FAILED:
            ended, reason = Exit(fault=f"{why}: a node failed", elapsed_s=elapsed_s), ""
        case _ if progress is None and phase is Phase.ENDED:
            fault = f"{why}, and its folder is untouched: do the nodes share {task.folder}?"
            ended, reason = Exit(fault=fault), ""
        case _:
            ended, reason = Exit(fault=f"{why}, before the run had ended", elapsed_s=elapsed_s), ""
    return _result(task, progress or Progress(is_complete=False), ended, reason)


def _result(task: Task, progress: Progress, ended: Exit, reason: str = "") -> JobResult:
    before, after = (_read_probe(task.folder, name) for name in ("before", "after"))
    left = swept({node: files.pop("left") for node, files in after.items() if "left" in files}).left
    return JobResult(
        name=task.name,
        exit=msgspec.structs.replace(ended, survivors=left),
        step=progress.steps[-1].name if progress.steps else "",
        reason=reason,
        started_at=progress.began_at,
        nodes=tuple(sorted(before, key=_natural)),
        before=before,
        after=after,
        epochs=tuple(Epoch(one.name, one.began_at, one.began_at + one.elapsed_s) for one in progress.steps),
        clock_set_s=progress.clock_set_s,
        storage_space=_read_storage_space(task.folder) if task.own_storage else {},
    )


def _parse(text: str, *, is_complete: bool) -> Progress:
    """Parse a record. A damaged record does not count as complete, because the missing part may be a failure.

    A line without its newline was cut, as on a full disk. What is left of its times would be read as other
    times.
    """
    began_at: float | None = None
    steps: list[_StepEnd] = []
    try:
        for line in text.splitlines(keepends=True):
            if not line.endswith("\n"):
                raise ValueError("cut short")
            if line.startswith("began "):
                began_at = _seconds(line.split()[1])
            elif line.startswith("step "):
                steps.append(_step(line.split()))
    except (ValueError, IndexError):
        is_complete = False
    return Progress(is_complete and bool(steps), began_at, tuple(steps))


def _step(words: list[str]) -> _StepEnd:
    """Parse the line of a step that has ended. Raises ValueError if the line is damaged."""
    match words:
        case ["step", name, code, begun, ended]:  # written by jobs of version 0.1
            return _StepEnd(name, _code(code), _seconds(begun), _seconds(ended) - _seconds(begun))
        case ["step", name, code, begun, up, ended, up_later]:
            wall_s = _seconds(ended) - _seconds(begun)
            elapsed_s = _elapsed(wall_s, _seconds(up_later) - _seconds(up))
            return _StepEnd(name, _code(code), _seconds(begun), elapsed_s, wall_s - elapsed_s)
    raise ValueError(f"{count(len(words), 'word')}")


def _code(text: str) -> int:
    if (code := whole_number(text)) is None:
        raise ValueError(text)
    return code


def _elapsed(wall_s: float, up_s: float) -> float:
    """Return the time of a step: by the wall clock, which is finer, unless the clock was set meanwhile.

    /proc/uptime counts hundredths of a second. A clock that is only slewed drifts by at most a thousandth.
    """
    return wall_s if abs(wall_s - up_s) <= 0.05 + 0.001 * up_s else up_s


def _seconds(text: str) -> float:
    """Parse a time. Raises ValueError if it is none; `float` alone accepts more than clocks print."""
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    return float(text.replace(",", "."))  # EPOCHREALTIME has the radix of the locale (bash(1))


def _read_storage_space(folder: Path) -> dict[str, str]:
    """Return what each node printed about its storage path (see probes.storage_space)."""
    found = {}
    for one in SafeFolder(folder).files("room.*"):
        with contextlib.suppress(OSError), one.reader() as file:
            found[one.name.removeprefix("room.")] = file.read(_MOST_CHARACTERS).decode(errors="replace")
    return found


def _read_probe(folder: Path, name: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for one in SafeFolder(folder).files(f"{name}.*"):
        with contextlib.suppress(OSError):
            found[one.name.removeprefix(f"{name}.")] = read_records(one.read().decode(errors="replace"))
    return found


def _natural(node: str) -> tuple[str, int]:
    """Return a sort key that puts n2 before n10."""
    stem = node.rstrip("0123456789")
    return stem, int(node[len(stem) :] or 0)
