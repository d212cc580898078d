"""What the sign test can find, and how many blocks it takes: as promised of other means."""

from __future__ import annotations

import numpy as np

from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.judged_family import Terms
from tare.core.comparison import Correction, Finding, Mean
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.stats.intervals import Floats
from tare.stats.power import detectable_effects
from tare.stats.ratios import ratios
from tare.stats.sign_test import median_blocks_for

TERMS = Terms(margin=0.02, correction=Correction.NONE, mean=Mean.MEDIAN)


def found_of(logs: Floats) -> list[Finding]:
    return judge(np.ones(logs.shape), np.exp(logs), [Better.LOWER] * logs.shape[1], TERMS).findings()


def test_the_detectable_effect_of_a_median_is_found_in_80_of_100_studies() -> None:
    random = np.random.default_rng(4)
    for n in (10, 20):
        noise = random.normal(0, 0.02, (n, 4000))
        effect = float(
            np.median(detectable_effects(ratios(np.ones_like(noise), np.exp(noise), mean=Mean.MEDIAN), 0.05))
        )
        found = ratios(np.ones_like(noise), np.exp(noise) * (1 + effect), mean=Mean.MEDIAN)
        assert 0.74 <= (found.low > 1).mean() <= 0.86


def test_five_blocks_find_nothing_by_the_sign_test_and_one_more_that_agrees_decides() -> None:
    (one,) = found_of(np.full((5, 1), 0.1) + np.arange(5)[:, np.newaxis] * 0.001)
    assert (one.verdict, one.detectable) == (Verdict.UNDECIDED, None)
    assert one.more_blocks == 3  # at a second look 2/2⁸ is little enough, and 2/2⁷ is not
    assert median_blocks_for(np.full((1, 5), 0.1), np.array([5.0]), 0.0, 0.025, 100).tolist() == [6.0]


def test_so_many_more_blocks_decide_a_median_when_the_shares_stay() -> None:
    block = np.array([0.03, 0.02, 0.05, -0.01, 0.04, 0.06, -0.02, 0.03])[:, np.newaxis]
    (one,) = found_of(block)
    assert one.verdict is Verdict.UNDECIDED
    assert one.more_blocks is not None
    copies = 1 + -(-one.more_blocks // 8)
    (again,) = found_of(np.tile(block, (copies, 1)))
    assert again.verdict is Verdict.WORSE
    near = np.array([0.003, 0.002, 0.05, -0.001, 0.004, 0.006, -0.05, 0.003])[:, np.newaxis]
    (close,) = found_of(near)
    assert close.verdict is Verdict.UNDECIDED
    assert close.more_blocks is not None
    (same,) = found_of(np.tile(near, (1 + -(-close.more_blocks // 8), 1)))
    assert same.verdict is not Verdict.UNDECIDED
