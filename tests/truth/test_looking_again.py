"""Looking again after more blocks keeps the error that is promised."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.headline import headlines
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign, Session
from tare.stats.looks import nominal_level, sequential_p_values, spent
from truth.campaigns import Truth, by_level, campaign
from truth.looking import followed
from truth.noise import Noise, exponential, lognormal, t3

TWO_ERRORS = 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "margin"),
    [(lognormal(0.02), 0.02), (lognormal(0.05), 0.02), (t3(0.02), 0.02)],
    ids=["2 %", "5 %", "t3"],
)
def test_studies_of_nothing_that_follow_the_advice_seldom_end_with_a_difference(
    noise: Noise, margin: float
) -> None:
    found = followed(noise, margin=margin)
    assert found.difference <= 0.05 + TWO_ERRORS
    assert found.blocks > 6


def test_studies_at_the_margin_that_follow_the_advice_seldom_end_as_equivalent() -> None:
    found = followed(lognormal(0.01), ratio=1.02, margin=0.02)
    assert found.equivalence <= 0.05 + TWO_ERRORS


def test_an_effect_is_found_by_following_the_advice() -> None:
    assert followed(exponential(0.05), ratio=1.06, margin=0.02, n_studies=300).difference > 0.8


def test_looks_share_the_error_and_a_single_look_spends_four_fifths() -> None:
    assert spent((5,)).tolist() == [0.8]
    assert spent((5, 10)).tolist() == [0.8, 0.95]
    assert nominal_level(0.05, (5,)) == pytest.approx(0.04)
    assert nominal_level(0.05, ()) == 0.05
    assert 0.01 < nominal_level(0.05, (5, 10)) < 0.0175
    p = sequential_p_values(np.array([0.04, np.nan, 0.04]), [(5,), (5,), ()])
    np.testing.assert_allclose(p, [0.05, np.nan, 0.04])


@pytest.mark.parametrize("looks", [(5, 10), (5, 6), (5, 9, 30), (20, 25, 27)])
def test_walks_cross_the_bounds_of_all_looks_together_as_often_as_allowed(looks: tuple[int, ...]) -> None:
    steps = np.random.default_rng(1).standard_normal((looks[-1], 40_000))
    z = np.abs(np.cumsum(steps, axis=0)[[n - 1 for n in looks]]) / np.sqrt(looks)[:, np.newaxis]
    from scipy.special import ndtr

    is_crossed = np.zeros(z.shape[1], np.bool_)
    for look in range(len(looks)):
        is_crossed |= 2 * ndtr(-z[look]) <= nominal_level(0.05, looks[: look + 1])
        assert is_crossed.mean() == pytest.approx(0.05 * spent(looks)[look], abs=0.003)


def in_sessions(found: Campaign, *, second_from: int, planned: tuple[int, int]) -> Campaign:
    """Return `found` as if its blocks from `second_from` on had been added in a second session."""

    def moved(one: Attempt) -> Attempt:
        return msgspec.structs.replace(one, session=1 + (one.block >= second_from))

    sessions = tuple(
        Session(number=number, began_at=1e9 * number, tare="0", blocks=blocks)
        for number, blocks in enumerate(planned, 1)
    )
    attempts = tuple(moved(one) for one in found.attempts)
    return msgspec.structs.replace(found, attempts=attempts, sessions=sessions)


EXTENDED = Truth(slowing=by_level("network", {"overlay": 1.02}), noise=lognormal(0.012), blocks=12)


def test_blocks_that_were_added_after_a_look_make_it_a_second_one_everywhere() -> None:
    found = in_sessions(campaign(EXTENDED), second_from=6, planned=(5, 12))
    at_once = campaign(EXTENDED)
    for answer in (aggregates, comparisons, headlines):
        (again,), (once,) = answer(found), answer(at_once)
        assert (again.look, once.look) == (2, 1)
        assert again.p_value == once.p_value
        assert again.p_adjusted is not None
        assert once.p_adjusted is not None
        assert again.p_adjusted > 2 * once.p_adjusted
    rule = parse_rule(RuleSource(text="overhead(time) > 0.1 %", kind=Kind.FAIL_IF, where="--fail-if"))
    lows = [check(one, [rule]).verdicts[0].judged[0].adjusted_low for one in (found, at_once)]
    assert lows[0] is not None
    assert lows[1] is not None
    assert lows[0] < lows[1]


def test_to_go_on_with_what_was_planned_is_no_second_look() -> None:
    found = in_sessions(campaign(EXTENDED), second_from=6, planned=(12, 12))
    assert [one.look for one in aggregates(found)] == [1]


def test_where_nothing_tells_what_was_planned_each_session_is_a_look() -> None:
    found = in_sessions(campaign(EXTENDED), second_from=6, planned=(0, 0))
    assert [one.look for one in aggregates(found)] == [2]
    few = in_sessions(campaign(EXTENDED), second_from=3, planned=(0, 0))
    assert [one.look for one in aggregates(few)] == [1]  # two blocks had no interval
