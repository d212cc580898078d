"""Test whether the quoted ratios have the distribution that their intervals assume."""

from __future__ import annotations

import msgspec
import numpy as np

from tare.analysis.verdicts.families import FamilyKind, Subject
from tare.analysis.verdicts.questions import questions
from tare.core.campaign import Campaign
from tare.stats.intervals import CONFIDENCE
from tare.stats.multiplicity import holm
from tare.stats.normality import normality_p_values
from tare.stats.ratios import log_ratios


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """How many quoted ratios were tested for a log-normal distribution, and which depart from it.

    `n_constant` counts the ratios that were the same in every block, which no test can judge. Ratios of
    values of zero or less have no logarithms, and are in neither.
    """

    n_tested: int
    n_constant: int
    departing: tuple[Subject, ...]


def diagnose(campaign: Campaign) -> Diagnosis:
    """Return the quoted ratios that depart from a log-normal distribution, with Holm's correction.

    The correction is over all quoted ratios. A few blocks show only gross departures, so finding none proves
    nothing.
    """
    n_tested = n_constant = 0
    departing: list[Subject] = []
    for family in questions(campaign).families:
        if family.kind is not FamilyKind.QUOTED:
            continue
        has_logs = ~((family.below <= 0) | (family.above <= 0)).any(axis=0)
        logs = np.where(has_logs, log_ratios(family.below, family.above), np.nan)
        p_values = normality_p_values(logs)
        n_tested += int(np.isfinite(p_values).sum())
        n_constant += int(_is_constant(logs).sum())
        is_odd = holm(p_values) <= 1 - CONFIDENCE
        departing += [family.subjects[column] for column in np.flatnonzero(is_odd).tolist()]
    return Diagnosis(n_tested=n_tested, n_constant=n_constant, departing=tuple(departing))


def _is_constant(logs: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.bool_]:
    is_known = np.isfinite(logs)
    highest = np.where(is_known, logs, -np.inf).max(axis=0, initial=-np.inf)
    lowest = np.where(is_known, logs, np.inf).min(axis=0, initial=np.inf)
    found: np.typing.NDArray[np.bool_] = (is_known.sum(axis=0) > 1) & (highest == lowest)
    return found
