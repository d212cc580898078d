"""An interval is printed with the digits that show on which side of a margin or a limit it ends."""

from __future__ import annotations

import re

import msgspec
import pytest

from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.compare import aggregates
from tare.report.checks.words import measured_words
from tare.report.words.changes import from_to, shares
from truth.campaigns import Truth, by_level, campaign


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.002, 0.02004, "[0.200, 2.004]"),
        (0.002, 0.02000, "[0.2, 2.0]"),
        (0.002, 0.01996, "[0.2, 2.0]"),
        (-0.0198, 0.01, "[−2.0, 1.0]"),
        (-0.0196, 0.01, "[−1.96, 1.00]"),
        (-0.0204, 0.03, "[−2.0, 3.0]"),
        (0.0204, 0.3, "[2, 30]"),
    ],
)
def test_an_end_does_not_look_as_if_it_lay_within_the_margin_or_beyond(
    low: float, high: float, text: str
) -> None:
    assert shares((low + high) / 2, (low, high), margin=0.02).interval.replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.03, "+3.0 % [3.0, 3.0]"), (0.2, "+20 % [20, 20]"), (0.0, "0.0 % [0.0, 0.0]")]
)
def test_what_never_varies_has_no_digits_to_tell_its_ends_apart(share: float, text: str) -> None:
    for off in (1e-16, 1e-7):
        shown = str(shares(share + off, (share - 2 * off, share + 2 * off), margin=0.02))
        assert shown.replace("\u00a0", " ").replace("\u202f", " ") == text


def test_both_ends_of_a_margin_are_given_since_they_are_symmetric_in_the_ratio() -> None:
    assert from_to(0.02).replace("\u202f", " ") == ", from −1.96 % to +2 %"
    assert from_to(0.1).replace("\u202f", " ") == ", from −9.09 % to +10 %"
    assert from_to(0) == ""


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_rule_prints_an_end_on_that_side_of_its_limit_where_it_is(seed: int) -> None:
    """The limit is the lower end to one digit, which a rounded end would look equal to."""
    found = campaign(Truth(slowing=by_level("network", {"overlay": 1.1})), seed=seed)
    (row,) = aggregates(found)
    assert row.low is not None
    limit = round(100 * (row.low - 1), 1)
    rule = RuleSource(text=f"overhead() > {limit} %", kind=Kind.FAIL_IF, where="test")
    (verdict,) = check(found, parse_rules([rule])).verdicts
    (one,) = verdict.judged
    low, high = re.findall(r"[+−][\d.]+", measured_words(one).partition("[")[2])
    assert (float(low) > limit) is (100 * (row.low - 1) > limit)
    assert float(high) > limit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.2e38, "+1.200e+40 % [+1.188e+40, +1.212e+40]"),
        (-1.2e38, "−1.200e+40 % [−1.212e+40, −1.188e+40]"),
        (1.2e-42, "+1.200e−40 % [+1.188e−40, +1.212e−40]"),
        (1e6, "+100000000 % [+99000000, +101000000]"),
    ],
)
def test_a_figure_of_any_size_is_printed_with_the_digits_that_count(value: float, text: str) -> None:
    """All forty digits were printed of a figure of 1e40, and none of one of 1e-40."""
    found = campaign(Truth(slowing=by_level("network", {"overlay": 1.1})), seed=1)
    rule = RuleSource(text="overhead() > 5 %", kind=Kind.FAIL_IF, where="test")
    (verdict,) = check(found, parse_rules([rule])).verdicts
    low, high = sorted((0.99 * value, 1.01 * value))
    one = msgspec.structs.replace(verdict.judged[0], value=value, low=low, high=high)
    assert measured_words(one) == text
