"""Show the progress of a campaign: a live bar at a terminal, elsewhere one plain line for each attempt."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from tare.core.attempt import Attempt, State
from tare.core.plan import Plan
from tare.core.units import format_seconds
from tare.core.visible_text import visible_line
from tare.execution.loop_interface import LoopState
from tare.terminal.output import echo_or_drop, has_colour, leave_dead_terminal

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_COLOUR = {State.DONE: "green", State.INVALID: "yellow"}


class PlainProgress:
    """A progress display for logs and pipes: one line for each attempt that ended."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout.flush()

    def __call__(self, progress: LoopState) -> None:
        """Print a line if `progress` reports the end of an attempt."""
        if progress.last is None:
            return
        leave_dead_terminal()
        count = f"[{progress.n_done:{len(str(progress.n_runs))}}/{progress.n_runs}]"
        case = _case(progress, self._plan)
        echo_or_drop(f"{count} {_block(progress)}  {case}  {_outcome(progress.last)}{_eta(progress)}")


class LiveProgress:
    """A bar with the current run, the number of finished runs, and the remaining time."""

    def __init__(self, plan: Plan) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        self._plan = plan
        self._bar: Bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[eta]}"),
            transient=True,
        )
        self._task: TaskID = self._bar.add_task("starting", total=None, eta="")

    def __enter__(self) -> LiveProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave_dead_terminal()
        self._bar.stop()

    def __call__(self, progress: LoopState) -> None:
        """Move the bar; for an attempt that is not done, also print a line above the bar."""
        from rich.markup import escape

        leave_dead_terminal()
        last = progress.last
        if last is not None and last.state is not State.DONE:
            text = f"{_block(progress)}  {_case(progress, self._plan)}  {_outcome(last)}"
            self._bar.console.print(
                escape(visible_line(text)), style=_COLOUR.get(last.state, "red"), highlight=False
            )
        now = f"{_block(progress)}  {_case(progress, self._plan)}"
        self._bar.update(
            self._task,
            description=escape(visible_line(now)),
            completed=progress.n_done,
            total=progress.n_runs,
            eta=_eta(progress).strip(),
        )


def make_progress(plan: Plan) -> PlainProgress | LiveProgress:
    """Return a live bar if standard output is a terminal with colour, else the plain display."""
    return LiveProgress(plan) if has_colour(sys.stdout) else PlainProgress(plan)


def _case(progress: LoopState, plan: Plan) -> str:
    """Return the description of the current case by `plan`, which may hide names with pseudonyms."""
    return plan.describe(plan.cases_by_id.get(progress.case.id, progress.case))


def _block(progress: LoopState) -> str:
    return f"block {progress.run.block}" if progress.run.block >= 1 else "warm-up"


def _outcome(attempt: Attempt) -> str:
    """Return how an attempt ended, and its time if that is known: of a cancelled job, it is not."""
    took = [format_seconds(attempt.elapsed_s)] if attempt.elapsed_s else []
    reason = [] if attempt.state is State.DONE else [attempt.reason]
    return "  ".join([attempt.state, *took, *reason])


def _eta(progress: LoopState) -> str:
    if not progress.eta_s:
        return ""
    return f"   {'at least ' if progress.is_least else ''}{format_seconds(progress.eta_s)} left"
