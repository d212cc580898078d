"""How often a family of verdicts claims something false, by simulating 2,000 families of comparisons.

A share of 0.05 found in 2,000 families scatters by ± 0.01 (two standard errors).
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from statsmodels.stats.multitest import multipletests

from tare.core.comparison import Correction
from tare.stats.family import PValues, p_values
from tare.stats.intervals import Floats
from tare.stats.multiplicity import holm
from tare.stats.ratios import Ratios, ratios

N_FAMILIES = 2000
MARGIN = 0.02
ALPHA = 0.05
TWO_ERRORS = 0.01

Flags = npt.NDArray[np.bool_]


class Claims(NamedTuple):
    """What is claimed of each column of each family, and which of it is false."""

    is_difference: Flags
    is_false_difference: Flags
    is_equivalence: Flags
    is_false_equivalence: Flags

    @property
    def any_false(self) -> float:
        """Return the share of families with any false claim of a kind, of the kind that has more."""
        kinds = (self.is_false_difference, self.is_false_equivalence)
        return max(float(is_false.any(axis=1).mean()) for is_false in kinds)

    @property
    def false_share(self) -> float:
        """Return the mean share of false claims among those of a kind, of the kind that has more."""
        kinds = (
            (self.is_difference, self.is_false_difference),
            (self.is_equivalence, self.is_false_equivalence),
        )
        return max(
            float((is_false.sum(axis=1) / np.maximum(made.sum(axis=1), 1)).mean()) for made, is_false in kinds
        )


def families(truths: Floats, n_blocks: int, scatter: float, seed: int = 1) -> list[Ratios]:
    """Return families of comparisons with these log ratios, every three sharing the runs of a reference."""
    random = np.random.default_rng(seed)
    shape = (n_blocks, N_FAMILIES, len(truths))
    block = random.normal(0, 0.1, (n_blocks, N_FAMILIES, 1))  # what slows a whole block slows all
    shared = random.normal(0, scatter, (n_blocks, N_FAMILIES, -(-len(truths) // 3)))
    reference = block + np.repeat(shared, 3, axis=2)[:, :, : len(truths)]
    contender = block + truths + random.normal(0, scatter, shape)
    found = ratios(np.exp(reference).reshape(n_blocks, -1), np.exp(contender).reshape(n_blocks, -1))
    columns = {field.name: getattr(found, field.name) for field in dataclasses.fields(Ratios)}
    return [
        Ratios(**{name: values[start : start + len(truths)] for name, values in columns.items()})
        for start in range(0, N_FAMILIES * len(truths), len(truths))
    ]


def claims(found: list[Ratios], truths: Floats, known: list[PValues]) -> Claims:
    is_difference = np.array([one.difference_adjusted <= ALPHA for one in known])
    is_equivalence = np.array([one.equivalence_adjusted <= ALPHA for one in known])
    ratio = np.array([one.ratio for one in found])
    has_false_sign = is_difference & ((ratio > 1) != (truths > 0)) | (is_difference & (truths == 0))
    is_beyond = np.abs(truths) >= np.log1p(MARGIN)
    return Claims(is_difference, has_false_sign, is_equivalence, is_equivalence & is_beyond)


def claimed(
    truths: list[float], correction: Correction, n_blocks: int = 5, scatter: float = 0.02, seed: int = 1
) -> Claims:
    found = families(np.array(truths), n_blocks, scatter, seed)
    known = [p_values(one, MARGIN, 1 - ALPHA, correction) for one in found]
    return claims(found, np.array(truths), known)


EDGE = float(np.log1p(MARGIN))
NOTHING = [0.0] * 24
MIXED = [0.0] * 8 + [EDGE] * 8 + [0.1, -0.1, 0.3, 2 * EDGE, -EDGE, 0.01, 0.0, 0.0]


@pytest.mark.parametrize("n_blocks", [5, 10, 20])
def test_of_nothing_holm_finds_something_in_five_of_a_hundred_campaigns_and_no_correction_in_half(
    n_blocks: int,
) -> None:
    together = claimed(NOTHING, Correction.HOLM, n_blocks)
    alone = claimed(NOTHING, Correction.NONE, n_blocks)
    assert together.any_false <= ALPHA
    assert alone.any_false > 0.5


@pytest.mark.parametrize("scatter", [0.003, 0.006, 0.02])
@pytest.mark.parametrize("n_blocks", [5, 20])
def test_holm_keeps_any_false_claim_rare_where_some_differ_and_some_lie_on_the_margin(
    n_blocks: int, scatter: float
) -> None:
    found = claimed(MIXED, Correction.HOLM, n_blocks, scatter)
    assert found.any_false <= ALPHA + TWO_ERRORS
    assert found.is_difference[:, 18].any()


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.003, 0.006, 0.02])
def test_fdr_keeps_the_share_of_false_claims_among_those_made(scatter: float) -> None:
    together = claimed(MIXED, Correction.FDR, 10, scatter)
    assert together.false_share <= ALPHA + TWO_ERRORS
    assert together.is_difference.sum() >= claimed(MIXED, Correction.HOLM, 10, scatter).is_difference.sum()


def test_equal_figures_that_are_known_well_do_not_make_others_differ() -> None:
    """A hundred equal figures of 2 % noise in 20 blocks: many are equivalent, which is no evidence."""
    found = claimed([0.0] * 100, Correction.FDR, 20, 0.02 / np.sqrt(2))
    assert found.is_equivalence.mean() > 0.3
    assert found.is_false_difference.any(axis=1).mean() <= ALPHA + TWO_ERRORS


def test_of_the_differences_that_fdr_finds_among_equal_figures_few_are_false() -> None:
    found = claimed([0.0] * 90 + [0.05] * 10, Correction.FDR, 20, 0.02 / np.sqrt(2))
    assert found.false_share <= ALPHA + TWO_ERRORS


@pytest.mark.parametrize("scatter", [0.003, 0.01, 0.03])
def test_an_effect_of_twice_the_margin_is_hardly_ever_called_equivalent(scatter: float) -> None:
    beyond = claimed([np.log1p(2 * MARGIN)], Correction.NONE, 5, scatter)
    assert beyond.is_equivalence.mean() <= ALPHA
    at_the_edge = claimed([EDGE], Correction.NONE, 5, scatter)
    assert at_the_edge.is_equivalence.mean() <= ALPHA + TWO_ERRORS


def test_equal_sides_that_are_well_known_are_called_equivalent() -> None:
    found = claimed([0.0] * 6, Correction.HOLM, 10, 0.004)
    assert found.is_equivalence.mean() > 0.9


def one_family(ratio: list[float], n_blocks: int = 5) -> Ratios:
    noise = np.random.default_rng(3).normal(0, 0.01, (n_blocks, len(ratio)))
    return ratios(np.ones_like(noise), np.exp(noise) * ratio)


def test_one_comparison_is_judged_as_ever_whatever_the_correction() -> None:
    found = one_family([1.02])
    for correction in Correction:
        known = p_values(found, MARGIN, 0.95, correction)
        assert known.difference_adjusted[0] == known.difference[0]
        assert known.equivalence_adjusted[0] == known.equivalence[0]
        assert known.size == 1
        assert (known.difference_level, known.equivalence_level) == pytest.approx((0.05, 0.05))


def test_each_kind_of_claim_is_adjusted_by_itself() -> None:
    found = one_family([1.0, 1.0, 1.03, 1.6])
    for correction, method in ((Correction.FDR, "fdr_bh"), (Correction.HOLM, "holm")):
        known = p_values(found, MARGIN, 0.95, correction)
        for plain, adjusted in (
            (known.difference, known.difference_adjusted),
            (known.equivalence, known.equivalence_adjusted),
        ):
            np.testing.assert_allclose(adjusted, multipletests(plain, method=method)[1], rtol=1e-12)


def test_a_comparison_without_an_interval_does_not_count() -> None:
    found = one_family([1.02, 1.5, 1.1])
    found.error[1] = np.nan
    known = p_values(found, MARGIN, 0.95, Correction.HOLM)
    assert known.size == 2
    np.testing.assert_allclose(known.difference_adjusted[[0, 2]], holm(known.difference[[0, 2]]))


def test_where_one_more_claim_needs_less_the_level_shows_it() -> None:
    found = one_family([1.5, 1.6, 1.7, 1.0])
    known = {one: p_values(found, MARGIN, 0.95, one) for one in Correction}
    for one in Correction:  # three differences are claimed, the fourth is the last
        assert known[one].difference_level == pytest.approx(0.05)
    n_equivalent = int((known[Correction.HOLM].equivalence_adjusted <= ALPHA).sum())
    assert known[Correction.HOLM].equivalence_level == pytest.approx(0.05 / (4 - n_equivalent))
    assert known[Correction.FDR].equivalence_level == pytest.approx(0.05 * (n_equivalent + 1) / 4)
    assert known[Correction.NONE].equivalence_level == pytest.approx(0.05)
