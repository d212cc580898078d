"""Look up the rows of `tare compare` and the report, so that other commands give the same verdicts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from tare.analysis.checking.rules import Function
from tare.analysis.quoted_figures import Figure, longer
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.variability import Variability, variabilities
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.telemetry import PREFIX
from tare.core.values import Scalar, Settings

Row = Comparison | Variability


class RowName(NamedTuple):
    """The identity of a row, and its table: figures over their numeric coordinates, or single points."""

    reference_case: str
    contender_case: str
    fom: str
    unit: str
    at: frozenset[tuple[str, Scalar]]
    is_point: bool


class RowVerdicts:
    """All rows of a campaign, with their verdicts; each table is computed when it is first needed.

    `foms` are the figures of merit that a user named; telemetry is judged if it is among them.
    """

    def __init__(self, campaign: Campaign, reference: Settings | None, foms: Collection[str]) -> None:
        self._campaign = campaign
        self._reference = reference
        self._telemetry = tuple(sorted(fom for fom in foms if fom.startswith(PREFIX)))

    def of(self, function: Function, name: RowName) -> Row | None:
        """Return a row; None if no table has it."""
        if function is Function.CV_RATIO:
            return self._scatters.get(name)
        return (self._points if name.is_point else self._figures).get(name)

    @functools.cached_property
    def longer(self) -> frozenset[Figure]:
        """Return the elapsed times that got worse for any contender."""
        return longer(aggregates(self._campaign, reference=self._reference))

    @functools.cached_property
    def _figures(self) -> dict[RowName, Row]:
        return self._rows(aggregates, is_point=False)

    @functools.cached_property
    def _points(self) -> dict[RowName, Row]:
        return self._rows(comparisons, is_point=True)

    @functools.cached_property
    def _scatters(self) -> dict[RowName, Row]:
        rows = variabilities(self._campaign, reference=self._reference)
        return _by_name(rows, is_point=False)

    def _rows(self, compare: Callable[..., list[Comparison]], *, is_point: bool) -> dict[RowName, Row]:
        asked = functools.partial(compare, self._campaign, reference=self._reference)
        return _by_name(
            [*asked(), *(asked(foms=self._telemetry) if self._telemetry else ())], is_point=is_point
        )


def _by_name(rows: Iterable[Row], *, is_point: bool) -> dict[RowName, Row]:
    return {
        RowName(
            one.reference_case,
            one.contender_case,
            one.fom,
            one.unit,
            frozenset(one.at.items()),
            is_point,
        ): one
        for one in rows
    }
