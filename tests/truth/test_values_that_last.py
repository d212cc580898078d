"""Values of runs that resemble the one before: the blocks count as fewer, as for ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.quantities import of_values
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Function, Kind, RuleSource
from tare.analysis.estimate import estimates
from tare.analysis.scales.scaling import scalings
from tare.core.interval import Bounded
from truth.campaigns import Truth, campaigns, middle
from truth.noise import autocorrelated

LASTING = autocorrelated(0.05)
N_STUDIES = 120


def test_a_limit_at_the_true_value_is_seldom_broken_by_what_wanders() -> None:
    """Promised to independent blocks is 1 in 40; without allowance, 1 in 5 of these failed."""
    truth = Truth(factors={"network": ("host",)}, reference={}, noise=LASTING, blocks=30)
    limit = 10 * math.exp(middle(LASTING))
    rule = parse_rules([RuleSource(text=f"value(time) > {limit:.9g} s", kind=Kind.FAIL_IF, where="test")])
    outcomes = [check(found, rule).outcome for found in campaigns(truth, N_STUDIES, seed=3)]
    assert sum(outcome is Outcome.FAIL for outcome in outcomes) <= 0.1 * N_STUDIES
    assert sum(outcome is Outcome.PASS for outcome in outcomes) <= 0.1 * N_STUDIES


def test_intervals_of_tables_and_scales_hold_what_wanders_about_it() -> None:
    """Without allowance, 4 of 10 intervals of times miss the truth; that of values promises 1 in 20."""
    truth = Truth(factors={"nodes": (1, 2)}, reference={}, noise=LASTING, blocks=30)
    level = 10 * math.exp(middle(LASTING))
    found = list(campaigns(truth, 60, seed=4))
    shown = [one for each in found for one in estimates(each)]
    assert sum(not holds(Bounded(one.value, one.low, one.high), level) for one in shown) <= 0.1 * len(shown)
    noted = [one for one in shown if "resemble the one before" in one.note]
    assert len(noted) > 0.9 * len(shown)
    scaled = [point.value for each in found for curve in scalings(each) for point in curve.points]
    assert sum(not holds(one, level) for one in scaled) <= 0.1 * len(scaled)


def holds(interval: Bounded | None, truth: float) -> bool:
    """Return whether an interval has both ends, and the truth between them."""
    if interval is None or interval.low is None or interval.high is None:
        return False
    return interval.low <= truth <= interval.high


def test_few_scales_that_surely_wander_have_no_interval_and_say_next_to_what() -> None:
    """Nine blocks, of which each resembles the one before by 0.95."""
    truth = Truth(factors={"nodes": (1, 2, 4)}, reference={}, noise=autocorrelated(0.1, r=0.95), blocks=9)
    points = [point for found in campaigns(truth, 15) for point in scalings(found)[0].points]
    alike = [point for point in points if "too few to tell how many of them count" in point.note]
    assert len(alike) > 3
    for point in alike:
        base = point.note.partition(",")[0]
        ratio = point.speedup if base == "next to 1" else point.gain
        assert ratio is not None
        assert (ratio.low, ratio.high) == (None, None)
        assert not any(one.is_certain for one in point.remarks if base != "next to 1")


@pytest.mark.parametrize(
    ("function", "n_blocks", "truth"),
    [(Function.MEDIAN, 40, 10.0), (Function.P90, 100, 10 * math.exp(0.05 * 1.2816))],
)
def test_quantiles_hold_where_runs_resemble_the_one_before(
    function: Function, n_blocks: int, truth: float
) -> None:
    """Without allowance, 3 of 10 intervals miss the truth."""
    values = 10 * LASTING(np.random.default_rng(2), (n_blocks, 300))
    _, low, high = of_values(function, values).bounds(0.95)
    assert np.isfinite(low).all()
    assert np.mean((low > truth) | (high < truth)) <= 0.07
