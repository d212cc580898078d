"""What is claimed of campaigns whose truth is known, counted where it is false."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Finding
from tare.core.verdict import Verdict
from tare.core.workload import Better
from truth.campaigns import Truth, campaigns

_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Tally:
    """Of `n_studies`, how many make any false claim of a difference, and of equivalence.

    `n_claims` and `n_false` count the claims of difference themselves, for the share that is false.
    """

    n_studies: int
    with_false_difference: int
    with_false_equivalence: int
    n_claims: int
    n_false: int

    @property
    def difference_rate(self) -> float:
        return self.with_false_difference / self.n_studies

    @property
    def equivalence_rate(self) -> float:
        return self.with_false_equivalence / self.n_studies


def tally(
    truth: Truth, n: int, claims_of: Callable[[Campaign], Sequence[Comparison]], *, seed: int = 1
) -> Tally:
    """Return how often what `claims_of` says of `n` campaigns of `truth` is false."""
    differences = equivalences = n_claims = n_false = 0
    for one in campaigns(truth, n, seed=seed):
        found = claims_of(one)
        wrong = [row for row in found if claims_difference(row) and is_false(truth, one, row)]
        n_claims += sum(map(claims_difference, found))
        n_false += len(wrong)
        differences += bool(wrong)
        equivalences += any(row.verdict is Verdict.EQUIVALENT and is_false(truth, one, row) for row in found)
    return Tally(n, differences, equivalences, n_claims, n_false)


def false_claims(truth: Truth, campaign: Campaign, found: Iterable[Comparison]) -> list[Comparison]:
    """Return the rows whose verdict the truth contradicts."""
    return [row for row in found if is_false(truth, campaign, row)]


def is_false(truth: Truth, campaign: Campaign, row: Comparison) -> bool:
    """Return whether the verdict of a row is false: *undecided* never is."""
    ratio = true_ratio(truth, campaign, row)
    if row.verdict is Verdict.EQUIVALENT:
        return not 1 / (1 + truth.margin) - _ROUNDING <= ratio <= 1 + truth.margin + _ROUNDING
    if not claims_difference(row):
        return False
    is_up = (row.verdict is Verdict.WORSE) == (row.better is Better.LOWER)
    return ratio <= 1 + _ROUNDING if is_up else ratio >= 1 - _ROUNDING


def true_ratio(truth: Truth, campaign: Campaign, row: Comparison) -> float:
    """Return what the ratio of a row truly is: at its own coordinates, and the mean over the others."""
    cases = campaign.cases
    return truth.ratio(
        cases[row.reference_case],
        cases[row.contender_case],
        row.fom,
        row.better,
        lambda point: all(row.at[name] == value for name, value in point.items() if name in row.at),
    )


def claims_difference(row: Finding) -> bool:
    """Return whether the verdict is *worse* or *better*."""
    return row.verdict in (Verdict.WORSE, Verdict.BETTER)
