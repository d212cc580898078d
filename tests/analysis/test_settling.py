"""What would settle an undecided comparison, beside others that are decided."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from support.planned import ELAPSED, make_planned
from tare.analysis.verdicts.compare import aggregates
from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.judged_family import Terms
from tare.core.comparison import Correction, Finding
from tare.core.verdict import Claim, Verdict
from tare.core.workload import Better
from tare.report.words.settling import settles
from tare.stats.family import p_values
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios

FIRST_LOOK = 5
WORSE = (0.5, 0.03)
SAME = (0.0, 0.001)


def drawn(shape: tuple[float, float], n_blocks: int) -> Floats:
    """Return log ratios with just this mean and this standard deviation, in an order without trend."""
    raw = stats.norm.ppf((np.arange(1, n_blocks + 1) - 0.5) / n_blocks)
    raw = np.random.default_rng(3).permutation(raw)
    found: Floats = shape[0] + shape[1] * raw / raw.std(ddof=1)
    return found


def sides(shapes: list[tuple[float, float]], n_blocks: int) -> tuple[Floats, Floats]:
    contender = np.exp(np.column_stack([drawn(one, n_blocks) for one in shapes]))
    return np.ones_like(contender), contender


def first_of(shapes: list[tuple[float, float]], correction: Correction) -> Finding:
    """Return the finding of the first of these comparisons after five blocks."""
    terms = Terms(margin=0.02, correction=correction)
    return judge(*sides(shapes, FIRST_LOOK), [Better.LOWER] * len(shapes), terms).findings()[0]


def deciding_blocks(shapes: list[tuple[float, float]], correction: Correction) -> int:
    """Return the least number of blocks at which a second look decides the first comparison."""
    for n_blocks in range(FIRST_LOOK + 1, 1000):
        looks = [(FIRST_LOOK, n_blocks)] * len(shapes)
        known = p_values(ratios(*sides(shapes, n_blocks)), 0.02, 0.95, correction, looks)
        if min(known.difference_adjusted[0], known.equivalence_adjusted[0]) <= 0.05:
            return n_blocks
    raise AssertionError("no number of blocks decides it")


@pytest.mark.parametrize("correction", list(Correction))
@pytest.mark.parametrize("others", [[], [WORSE] * 7, [SAME] * 7, [WORSE] * 4 + [SAME] * 4])
@pytest.mark.parametrize("open_one", [(0.03, 0.09), (0.004, 0.05), (0.004, 0.02)])
def test_so_many_blocks_settle_one_beside_others_that_are_decided(
    open_one: tuple[float, float], others: list[tuple[float, float]], correction: Correction
) -> None:
    shapes = [open_one, *others]
    found = first_of(shapes, correction)
    assert found.verdict is Verdict.UNDECIDED
    assert found.more_blocks is not None
    assert FIRST_LOOK + found.more_blocks == pytest.approx(deciding_blocks(shapes, correction), rel=0.1)


def test_no_blocks_settle_what_is_withheld_for_its_mean_cost() -> None:
    random = np.random.default_rng(2)
    slow_blocks = np.array([10.0] * 38 + [200.0, 210.0])
    host = slow_blocks * np.exp(0.001 * random.standard_normal(40))
    overlay = slow_blocks * np.where(slow_blocks > 100, 1.07, 1.0)
    order = random.permutation(40)
    campaign = make_planned(
        {"host": {ELAPSED: host[order].tolist()}, "overlay": {ELAPSED: overlay[order].tolist()}}
    )
    [row] = aggregates(campaign)
    assert row.verdict is Verdict.UNDECIDED
    assert "the mean of what adds up is not" in row.note
    assert row.more_blocks is None
    assert "instead of" not in settles([row])


@pytest.mark.parametrize("n_blocks", [5, 99, 150, 400])
def test_more_blocks_are_suggested_than_were_measured(n_blocks: int) -> None:
    for scatter in (0.05, 0.1, 0.5):
        below, above = sides([(0.001, scatter * n_blocks**0.5)], n_blocks)
        [found] = judge(below, above, [Better.LOWER], Terms(margin=0.02)).findings()
        assert found.verdict.claim is not Claim.DIFFERENCE
        text = settles([found])
        assert "if ratio and noise stay as they are" in text
        n_named = int(text.removeprefix("About ").split()[0])
        assert n_named > n_blocks


def test_an_undecided_one_without_a_ratio_is_counted_among_the_undecided() -> None:
    below, above = sides([(0.001, 0.5), (0.001, 0.5)], 5)
    below[:, 1] = 0.0  # the mean of the reference is zero, so there is no ratio to it
    found = judge(below, above, [Better.LOWER] * 2, Terms(margin=0.02)).findings()
    assert [one.verdict for one in found] == [Verdict.UNDECIDED] * 2
    assert "1 of the 2 undecided" in settles(found)


def test_ranks_that_disagree_by_little_are_told_with_the_digits_that_show_it() -> None:
    logs = -np.linspace(1e-5, 3e-5, 12)
    logs[5] = 0.05
    campaign = make_planned(
        {"host": {ELAPSED: [10.0] * 12}, "overlay": {ELAPSED: (10 * np.exp(logs)).tolist()}}
    )
    [row] = aggregates(campaign)
    found = re.search(r"ranks disagree: × (\S+) \[(\S+), (\S+)\]", row.note)
    assert found
    assert float(found[3]) < 1
