"""Numbers, signs and names as the report writes them."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.synthetic import make_campaign, make_case, make_plan
from tare.core.comparison import Finding
from tare.core.verdict import Verdict
from tare.core.workload import Better, ParameterKind
from tare.report.variants import lay_out
from tare.report.words.changes import bounds_of, change, factor, shares
from tare.report.words.numbers import (
    bracket,
    coordinate,
    listed,
    measured,
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
    [
        (0.683, "+68 %"),
        (-0.0041, "−0.4 %"),
        (0.0996, "+10 %"),
        (-0.00001, "0.0 %"),
        (6.12, "+612 %"),
        (1e38, "+1.00e+40 %"),
    ],
)
def test_percent_has_a_sign_and_two_digits(share: float, text: str) -> None:
    assert plain(percent(share)) == text


def test_an_interval_of_shares_has_no_more_digits_than_can_be_read() -> None:
    assert plain(bracket((-0.5, 1e38), 0)) == "[−50, 1.00e+40]"
    assert plain(bracket((-0.00001, math.inf), 1)) == "[0.0, ∞]"


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.4136, "2.41"), (0.0123, "0.0123"), (1234.5, "1 234"), (0, "0"), (-3.5, "−3.50"), (2.5e9, "2.50e+09")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert plain(number(value)) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (20.1337, 20.05, 20.21, "20.13 µs"),
        (20.1337, 18.0, 22.0, "20 µs"),
        (3912.4, 3700.0, 4100.0, "3 900 µs"),
        (20.1337, None, None, "20.1 µs"),
        (20.0, 20.0, 20.0, "20.0 µs"),
        (9.999, 9.95, 10.05, "10.00 µs"),
        (10.004, 9.954, 10.054, "10.00 µs"),
        (116.6, 22.6, 601.0, "120 µs"),
        (270.7, 5.1, 14358.6, "270 µs"),
        (0.0317, 0.001, 1.5, "0.032 µs"),
    ],
)
def test_a_measured_value_has_the_digits_that_its_interval_allows(
    value: float, low: float | None, high: float | None, text: str
) -> None:
    assert plain(measured(value, low, high, "us")) == text


def test_units_are_set_as_in_print() -> None:
    assert plain(quantity(2.4136, "us")) == "2.41 µs"
    assert quantity(3, "") == "3.00"


def test_the_interval_of_a_change_is_that_of_the_figure_itself() -> None:
    assert bounds_of(found(0.78, 0.75, 0.81)) == pytest.approx((-0.25, -0.19))
    assert bounds_of(found(1.68, 1.61, 1.75)) == pytest.approx((0.61, 0.75))
    assert bounds_of(found(1.68)) is None
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
        (0.78, 0.75, 0.81, Better.HIGHER, "−22 % [−25, −19]"),
        (10.0, 9.5, 10.5, Better.LOWER, "+900 % [850, 950]"),
        (160.92, 155.2, 166.9, Better.LOWER, "161 × [155, 167]"),
        (160.92, 155.2, 166.9, Better.HIGHER, "161 × [155, 167]"),
        (1 / 160.92, 1 / 166.9, 1 / 155.2, Better.HIGHER, "1/161 × [1/167, 1/155]"),
        (0.001, 0.0009, 0.0011, Better.LOWER, "1/1 000 × [1/1 111, 1/909]"),
        (12.0, 0.8, 180.0, Better.LOWER, "12.0 × [0.800, 180]"),
        (0.004, 0.0, 0.9, Better.HIGHER, "1/250 × [0, 0.900]"),
        (161.0, 160.98, 161.02, Better.LOWER, "161.00 × [160.98, 161.02]"),
        (161.0, None, None, Better.LOWER, "161 ×"),
        (0.0, None, None, Better.LOWER, "−100 %"),
        (0.0, None, None, Better.HIGHER, "−100 %"),
        (0.1, 0.09, 0.11, Better.LOWER, "−90 % [−91, −89]"),
    ],
)
def test_a_change_beyond_tenfold_is_the_ratio_with_its_interval(
    ratio: float, low: float | None, high: float | None, better: Better, text: str
) -> None:
    assert plain(str(change(found(ratio, low, high)))) == text, f"whichever way it improves, here {better}"


def test_without_a_ratio_there_is_no_change() -> None:
    assert change(found(None)) is None


def test_a_factor_never_reads_as_nothing() -> None:
    assert plain(str(factor(1e-9, None, None))) == "1/1.00e+09 ×"


def test_the_plan_states_which_settings_count_bytes_and_not_their_names() -> None:
    cases = [
        make_case(network, workload=workload, parameters={"block": 128 * n})
        for workload in ("copy", "threads")
        for network in ("host", "overlay")
        for n in (1, 8)
    ]
    plan = msgspec.structs.replace(
        make_plan(cases),
        kinds={"copy": {"block": ParameterKind.BYTES}, "threads": {"block": ParameterKind.WHOLE}},
    )
    variants = lay_out(msgspec.structs.replace(make_campaign(cases), plan=plan), ())
    assert [plain(configuration.title) for configuration in variants.configurations] == [
        *("copy · block 128 B", "copy · block 1 KiB"),
        *("threads · block 128", "threads · block 1024"),
    ]
    assert [plain(configuration.step) for configuration in variants.configurations][1::2] == [
        "block 1 KiB",
        "block 1024",
    ]
