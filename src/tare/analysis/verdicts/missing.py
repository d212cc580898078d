"""Explain a missing ratio: which side of a comparison has no value, and why."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np

from tare.analysis.pairs import Pair
from tare.analysis.table import Cell, tabulate
from tare.analysis.verdicts.row_notes import NO_RUN_HAS_IT, NOT_MEASURED
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.comparison import Finding
from tare.core.values import Settings
from tare.stats.intervals import Floats


class MissingValues:
    """Finds which side of a pair has no value of a figure, and why."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign

    def explained(
        self, pair: Pair, found: Finding, below: Floats, above: Floats, cells: Sequence[Cell] = ()
    ) -> Finding:
        """Return `found` with a note on the side without values, if that is why there is no ratio.

        `below` and `above` are the values of the reference and of the contender, one per pass: means over
        `cells`, of which a run must have all.
        """
        if found.ratio is not None or found.note != NOT_MEASURED:
            return found
        return msgspec.structs.replace(found, note=self.words(pair, below, above, cells) or found.note)

    def words(self, pair: Pair, below: Floats, above: Floats, cells: Sequence[Cell] = ()) -> str:
        """Return which side has no value, and why; empty if both have some."""
        sides = (
            (pair.reference_case.id, pair.reference, below),
            (pair.contender_case.id, pair.contender, above),
        )
        parts = [
            f"{self._name(settings)} has none, since {self.why(case, cells)}"
            for case, settings, values in sides
            if not np.isfinite(values).any()
        ]
        return f"{NOT_MEASURED}: {' and '.join(parts)}" if parts else ""

    def _name(self, settings: Settings) -> str:
        return " ".join(self._campaign.plan.written(name, value) for name, value in settings.items())

    def why(self, case: str, cells: Sequence[Cell] = ()) -> str:
        """Return why a case has no value of a figure, which is a mean over `cells`."""
        states = self._states[case]
        if states[State.DONE]:
            places = tabulate(self._campaign).places(case) if len(cells) > 1 else ()
            return "no run has all of its points" if any(map(places.__contains__, cells)) else NO_RUN_HAS_IT
        states_words = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
        return f"no run counts ({states_words})" if states_words else "it has not been run"

    @functools.cached_property
    def _states(self) -> dict[str, Counter[State]]:
        """The final states of the measured runs of each case."""
        states: dict[str, Counter[State]] = defaultdict(Counter)
        for run, one in self._campaign.latest().items():
            if run.block >= 1:
                states[run.case][one.state] += 1
        return states
