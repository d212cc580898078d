"""Numbers, signs and names as the report writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.model.comparison import Finding, Verdict
from tare.model.workload import Better
from tare.report.words.costs import cost, factor, shares, weight
from tare.report.words.numbers import (
    coordinate,
    cost_interval,
    listed,
    number,
    percent,
    quantity,
    ratio,
    ratio_bounds,
    visible,
)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u202f", " ")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.683, "+68 %"), (-0.0041, "−0.4 %"), (0.0996, "+10 %"), (-0.00001, "0.0 %"), (6.12, "+612 %")],
)
def test_percent_has_a_sign_and_two_digits(share: float, text: str) -> None:
    assert plain(percent(share)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.4136, "2.41"), (0.0123, "0.0123"), (1234.5, "1 234"), (0, "0"), (-3.5, "−3.50"), (2.5e9, "2.50e+09")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert plain(number(value)) == text


def test_units_are_set_as_in_print() -> None:
    assert plain(quantity(2.4136, "us")) == "2.41 µs"
    assert quantity(3, "") == "3.00"


def test_the_cost_interval_of_a_rate_is_turned_round() -> None:
    assert cost_interval(0.75, 0.81, Better.HIGHER) == pytest.approx((0.19, 0.25))
    assert cost_interval(1.61, 1.75, Better.LOWER) == pytest.approx((0.61, 0.75))
    assert cost_interval(None, None, Better.LOWER) is None
    assert plain(str(shares(0.68, (0.61, 0.75)))) == "+68 % [61, 75]"
    assert plain(str(shares(0.004, (-0.011, 0.019)))) == "+0.4 % [−1.1, 1.9]"


def test_a_ratio_near_one_has_a_third_decimal() -> None:
    assert (plain(ratio(1.683)), plain(ratio(1.0041)), ratio(None)) == ("× 1.68", "× 1.004", "–")
    assert plain(ratio_bounds(1.683, 1.6, 1.75)) == "[1.60, 1.75]"


def test_a_ratio_beyond_tenfold_has_three_digits_either_way() -> None:
    assert (plain(ratio(0.00065)), plain(ratio(160.92)), plain(ratio(0.0))) == (
        "× 1/1 538",
        "× 161",
        "× 0.00",
    )
    assert plain(ratio_bounds(0.00065, 0.0001, 0.09)) == "[1/10 000, 1/11.1]"


def test_coordinates_carry_their_unit() -> None:
    assert plain(coordinate("bytes", 65536)) == "64 KiB"
    assert plain(coordinate("nodes", 1)) == "1 node"
    assert coordinate("size", 1536) == "size 1536"
    assert coordinate("is_pinned", value=True) == "is pinned on"


def test_lists_read_as_prose() -> None:
    assert [listed(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


@given(st.text())
def test_visible_text_holds_nothing_that_hides_or_turns_text(text: str) -> None:
    shown = visible(text)
    assert not set(shown) & {"\x1b", "\x00", "\x7f", "\u202e", "\u2066", "\u200b", "\uffff", "\ufdd0"}
    assert visible(shown) == shown
    if text.isprintable():
        assert shown == text


def test_a_narrow_interval_has_decimals_until_its_ends_differ() -> None:
    assert plain(str(shares(0.5012, (0.5003, 0.5021)))) == "+50.1 % [50.0, 50.2]"
    assert plain(str(shares(0.5, (0.5, 0.5)))) == "+50 % [50, 50]"


def found(ratio: float | None, low: float | None = None, high: float | None = None) -> Finding:
    return Finding(n_blocks=5, ratio=ratio, low=low, high=high, confidence=0.95, verdict=Verdict.UNDECIDED)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "better", "text"),
    [
        (10.0, 9.5, 10.5, Better.LOWER, "+900 % [850, 950]"),
        (160.92, 155.2, 166.9, Better.LOWER, "161 × [155, 167]"),
        (160.92, 155.2, 166.9, Better.HIGHER, "1/161 × [1/167, 1/155]"),
        (1 / 160.92, 1 / 166.9, 1 / 155.2, Better.HIGHER, "161 × [155, 167]"),
        (0.001, 0.0009, 0.0011, Better.LOWER, "1/1 000 × [1/1 111, 1/909]"),
        (12.0, 0.8, 180.0, Better.LOWER, "12.0 × [0.800, 180]"),
        (0.004, 0.0, 0.9, Better.HIGHER, "250 × [1.11, ∞]"),
        (161.0, 160.98, 161.02, Better.LOWER, "161.00 × [160.98, 161.02]"),
        (161.0, None, None, Better.LOWER, "161 ×"),
        (0.0, None, None, Better.LOWER, "−100 %"),
        (0.0, None, None, Better.HIGHER, "+100 %"),
        (0.1, 0.09, 0.11, Better.LOWER, "−90 % [−91, −89]"),
    ],
)
def test_a_cost_beyond_tenfold_is_a_factor_with_its_interval(
    ratio: float, low: float | None, high: float | None, better: Better, text: str
) -> None:
    assert plain(str(cost(found(ratio, low, high), better))) == text


def test_without_a_ratio_or_a_direction_there_is_no_cost() -> None:
    assert cost(found(None), Better.LOWER) is None
    assert cost(found(161.0), None) is None


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.sampled_from(Better))
def test_costs_are_sorted_as_they_are_told(first: float, second: float, better: Better) -> None:
    weights = [weight(found(ratio), better) for ratio in sorted((first, second))]
    assert weights == sorted(weights, reverse=better is Better.HIGHER, key=lambda one: one or 0.0)


def test_a_factor_never_reads_as_nothing() -> None:
    assert plain(str(factor(1e-9, None, None))) == "1/1.00e+09 ×"
