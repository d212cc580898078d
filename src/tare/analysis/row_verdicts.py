"""Look up the verdicts of `tare compare` and the report, so that other commands give the same ones."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from typing import NamedTuple

from tare.analysis.compare import aggregates, comparisons
from tare.analysis.quoted_figures import Figure, longer
from tare.analysis.rules import Function
from tare.analysis.variability import Variability, variabilities
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.telemetry import PREFIX
from tare.core.values import Scalar, Settings
from tare.core.verdict import Verdict


class RowName(NamedTuple):
    """The identity of a row, and its table: figures over their numeric coordinates, or single points."""

    reference_case: str
    contender_case: str
    fom: str
    unit: str
    at: frozenset[tuple[str, Scalar]]
    is_point: bool


class RowVerdict(NamedTuple):
    """The verdict of a row within its family of `n_family` rows, and whether its sides differ at all.

    A certain difference within the margin has the verdict `equivalent`, but still is a difference.
    `assumes_independence` is as in a Comparison.
    """

    verdict: Verdict
    is_different: bool
    n_family: int
    assumes_independence: bool = False


class RowVerdicts:
    """The verdicts of all rows of a campaign; each table is computed when it is first needed.

    `foms` are the figures of merit that a user named; telemetry is judged if it is among them.
    """

    def __init__(
        self, campaign: Campaign, reference: Settings | None, confidence: float, foms: Collection[str]
    ) -> None:
        self._campaign = campaign
        self._reference = reference
        self._confidence = confidence
        self._telemetry = tuple(sorted(fom for fom in foms if fom.startswith(PREFIX)))

    def of(self, function: Function, name: RowName) -> RowVerdict | None:
        """Return the verdict of a row; None if no table has it."""
        if function is Function.CV_RATIO:
            return self._scatters.get(name)
        return (self._points if name.is_point else self._figures).get(name)

    @functools.cached_property
    def longer(self) -> frozenset[Figure]:
        """Return the elapsed times that got worse for any contender."""
        return longer(aggregates(self._campaign, reference=self._reference, confidence=self._confidence))

    @functools.cached_property
    def _figures(self) -> dict[RowName, RowVerdict]:
        asked = functools.partial(
            aggregates, self._campaign, reference=self._reference, confidence=self._confidence
        )
        return _drawn([*asked(), *(asked(foms=self._telemetry) if self._telemetry else ())], is_point=False)

    @functools.cached_property
    def _points(self) -> dict[RowName, RowVerdict]:
        asked = functools.partial(
            comparisons, self._campaign, reference=self._reference, confidence=self._confidence
        )
        return _drawn([*asked(), *(asked(foms=self._telemetry) if self._telemetry else ())], is_point=True)

    @functools.cached_property
    def _scatters(self) -> dict[RowName, RowVerdict]:
        rows = variabilities(self._campaign, reference=self._reference, confidence=self._confidence)
        return _drawn(rows, is_point=False)


def _drawn(rows: Iterable[Comparison | Variability], *, is_point: bool) -> dict[RowName, RowVerdict]:
    return {
        RowName(
            one.reference_case,
            one.contender_case,
            one.fom,
            one.unit,
            frozenset(one.at.items()),
            is_point,
        ): RowVerdict(
            one.verdict,
            one.p_adjusted is not None and one.p_adjusted <= 1 - one.confidence,
            one.n_comparisons if isinstance(one, Variability) else one.family,
            False if isinstance(one, Variability) else one.assumes_independence,
        )
        for one in rows
    }
