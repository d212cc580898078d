"""The runs in one output: usually one, but logs may be appended to or concatenated.

A parser calls `Runs.begin` at the first line of a run, puts values into ``open.figures``, sets
``is_finished`` at the last line, and calls `Runs.report` at the end of the output.
"""

from __future__ import annotations

import dataclasses
import math

from tare.plugins.workloads.common.benchmark import Findings, run_number
from tare.plugins.workloads.common.left_out import UNFINISHED


@dataclasses.dataclass
class OutputRun:
    """One run: its figures by figure of merit, and whether it finished."""

    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    is_finished: bool = False
    is_begun: bool = False
    """Whether the output contains the line that begins the run."""


class Runs:
    """The runs of one output, in the order in which they began."""

    def __init__(self, findings: Findings, n_figures: int) -> None:
        """Create an empty list; each run counts as `n_figures` figures towards the limit of `findings`."""
        self._findings = findings
        self._n_figures = n_figures
        self._runs: list[OutputRun] = []

    @property
    def last(self) -> OutputRun | None:
        """Return the run that began last."""
        return self._runs[-1] if self._runs else None

    @property
    def open(self) -> OutputRun:
        """Return the unfinished run; add a new run if there is none."""
        last = self.last
        if last is None or last.is_finished:
            if last is not None and last.is_begun:
                self._findings.mixed("figures after the end of their run")
            return self._add()
        return last

    def begin(self) -> OutputRun:
        """Begin a run and return it; an unfinished last run without figures is reused."""
        last = self.last
        if last is None or last.is_finished or last.figures:
            last = self._add()
        last.is_begun = True
        return last

    def _add(self) -> OutputRun:
        run = OutputRun()
        self._runs.append(run)
        self._findings.keep(self._n_figures)
        return run

    def report(self, *, end: str, nothing: str) -> bool:
        """Add figures and problems to the findings; return whether the output is complete.

        An unfinished run that is followed by another does not count. `end` is the problem that is reported if
        the last run is unfinished, `nothing` the problem if there is no run.
        """
        findings = self._findings
        runs = [run for run in self._runs if run.is_finished or run is self._runs[-1]]
        for run in self._runs[:-1]:
            for fom in () if run.is_finished else run.figures:
                findings.leave_out(fom, UNFINISHED, {})
        for number, run in enumerate(runs, 1):
            for fom, value in run.figures.items():
                findings.measure(fom, value, **run_number(number, len(runs)))
        if not runs:
            findings.problem(nothing)
        elif not runs[-1].is_finished:
            findings.problem(end)
        return (
            bool(runs)
            and runs[-1].is_finished
            and all(math.isfinite(value) for run in runs for value in run.figures.values())
        )
