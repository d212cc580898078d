"""The language of rules: what it means, and where it points when it means nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.analysis.checking.limit_tests import Ternary, every, some
from tare.analysis.checking.limits import convert
from tare.analysis.checking.rule_parser import parse_rule, parse_rules
from tare.analysis.checking.rules import Bound, Group, Kind, Node, Op, Rule, RuleSource, opposite
from tare.core.errors import UsageError

statements = st.sampled_from(Ternary)
INVERSE = {Ternary.TRUE: Ternary.FALSE, Ternary.FALSE: Ternary.TRUE, Ternary.UNKNOWN: Ternary.UNKNOWN}


def source(text: str, kind: Kind = Kind.FAIL_IF) -> RuleSource:
    return RuleSource(text=text, kind=kind, where="--fail-if")


def parse(text: str, kind: Kind = Kind.FAIL_IF) -> Rule:
    return parse_rule(source(text, kind))


def bound(text: str) -> Bound:
    node = parse(text).violation
    assert isinstance(node, Bound)
    return node


def message(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(text)
    return str(caught.value)


# --- logic of three values ---


@given(st.lists(statements))
def test_de_morgan_holds_with_the_unknown(found: list[Ternary]) -> None:
    assert INVERSE[every(found)] is some(INVERSE[one] for one in found)
    assert INVERSE[some(found)] is every(INVERSE[one] for one in found)


@given(st.lists(statements), st.randoms())
def test_the_order_of_parts_does_not_matter(found: list[Ternary], random: object) -> None:
    mixed = sorted(found, key=lambda one: one.value)
    assert (every(found), some(found)) == (every(mixed), some(mixed))


@given(st.lists(statements), st.integers(0, 20), st.sampled_from([Ternary.TRUE, Ternary.FALSE]))
def test_what_is_known_stays_so_when_more_becomes_known(
    found: list[Ternary], index: int, learnt: Ternary
) -> None:
    known = [learnt if one is Ternary.UNKNOWN and i == index else one for i, one in enumerate(found)]
    for judge in (every, some):
        if judge(found) is not Ternary.UNKNOWN:
            assert judge(known) is judge(found)


@given(st.lists(statements, min_size=1))
def test_the_unknown_is_unknown_only_where_both_ways_differ(found: list[Ternary]) -> None:
    """Kleene's values are those that every way of learning the unknown agrees on."""
    ways: list[list[bool]] = [[]]
    for one in found[:8]:
        outcomes = [True, False] if one is Ternary.UNKNOWN else [one is Ternary.TRUE]
        ways = [[*way, outcome] for way in ways for outcome in outcomes]
    for judge, plain in ((every, all), (some, any)):
        results = {plain(way) for way in ways}
        expected = (
            Ternary.UNKNOWN if len(results) == 2 else Ternary.TRUE if results == {True} else Ternary.FALSE
        )
        assert judge(found[:8]) is expected


# --- what a rule means ---


def test_a_comparison_has_a_function_selectors_and_a_limit() -> None:
    one = bound("overhead(latency, network=overlay, nodes=2|4) > 5 %")
    assert (one.op, one.limit, one.unit) == (Op.ABOVE, 5.0, "%")
    assert one.call.fom == "latency"
    assert [(s.name, s.values) for s in one.call.selectors] == [
        ("network", ("overlay",)),
        ("nodes", ("2", "4")),
    ]


@pytest.mark.parametrize(
    "text", ["overhead(fom=latency) > 5 %", "5 % < overhead( latency )", "(overhead('latency')>5%)"]
)
def test_a_comparison_can_be_written_in_several_ways(text: str) -> None:
    one = bound(text)
    assert (one.op, one.limit, one.unit, one.call.fom) == (Op.ABOVE, 5.0, "%", "latency")


def test_and_binds_closer_than_or_and_not_closest() -> None:
    node = parse("ratio(a=1) > 1 or not ratio(a=2) > 2 and ratio(a=3) > 3").violation
    assert isinstance(node, Group)
    assert not node.is_all
    right = node.parts[1]
    assert isinstance(right, Group)
    assert right.is_all
    assert isinstance(right.parts[0], Bound)
    assert right.parts[0].op is Op.AT_MOST


def test_to_pass_if_is_to_fail_if_not() -> None:
    text = "ratio(a=1) > 1 and (value(b) <= 2 us or not overhead() < 3 %)"
    assert parse(text, Kind.PASS_IF).violation == opposite(parse(text).violation)


@given(st.recursive(st.sampled_from([bound("ratio() > 1"), bound("ratio() <= 2")]), lambda parts: st.builds(
    lambda is_all, inner: Group(is_all, tuple(inner)), st.booleans(), st.lists(parts, min_size=1, max_size=3)
)))  # fmt: skip
def test_the_opposite_of_the_opposite_is_the_rule(node: Node) -> None:
    assert opposite(opposite(node)) == node


@given(st.text(alphabet="overhead(ratio=1,|>5%andnot\"' <)value us\n\0é\ud800", max_size=60))
def test_any_text_is_a_rule_or_a_fault_and_nothing_else(text: str) -> None:
    try:
        assert parse(text).text == " ".join(text.split())
    except UsageError as error:
        shown = str(error)
        assert shown.startswith("--fail-if: column ")


# --- where a fault is ---


@pytest.mark.parametrize(
    ("text", "column", "cure"),
    [
        ("overhed() > 5 %", 1, "did you mean 'overhead'?"),
        ("elapsed() > 5 %", 1, "choose from overhead, ratio, value, median, p90, cv, cv_ratio, efficiency"),
        ("overhead(network=overlay) == 5 %", 27, "an interval can never show that two numbers are equal"),
        ("overhead(network=overlay)", 26, "expected < <= > or >= and a limit"),
        ("overhead(network=overlay) > ", 28, "expected a comparison"),
        ("overhead(network=) > 5 %", 18, "expected a value"),
        ("overhead(network=a network=b) > 5 %", 20, "expected ',' or ')'"),
        ("overhead(a=1, a=2) > 5 %", 15, "write a=this|that"),
        ("overhead(a, b) > 5 %", 13, "fom is selected twice"),
        ("overhead(fom=a|b) > 5 %", 10, "one figure of merit at a time"),
        ("ratio() > ratio()", 11, "compare a function with a number"),
        ("ratio() > 1e999", 11, "must be finite"),
        ("ratio() > 1 % ratio() > 2", 15, "expected 'and', 'or' or the end"),
        ("(ratio() > 1", 13, "close the bracket"),
        ("(" * 60, 51, "nested too deep"),
        ("", 1, "expected a comparison"),
    ],
)
def test_a_fault_names_what_is_wrong_and_points_at_it(text: str, column: int, cure: str) -> None:
    first, shown, marker = message(text).splitlines()
    assert first.startswith(f"--fail-if: column {column}: ")
    assert cure in first
    assert shown == f"  {text.strip()}"
    assert marker == " " * (column + 1) + "^"


def test_every_faulty_rule_is_reported_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse_rules([source("overhed() > 1"), source("ratio() > 1"), source("ratio(")])
    assert str(caught.value).count("--fail-if: column") == 2


def test_a_rule_that_is_too_long_is_refused() -> None:
    assert "more than 2000 characters" in message("ratio() > 1 and " * 200)


# --- units ---


@pytest.mark.parametrize(
    ("number", "unit", "to", "expected"),
    [
        (2.5, "us", "us", 2.5),
        (2.5, "ms", "us", 2500),
        (1, "Gbit/s", "MB/s", 125),
        (1, "GiB/s", "MB/s", 1073.741824),
        (5, "Tflop/s", "Gflop/s", 5000),
        (2, "min", "s", 120),
        (48, "ns/day", "ns/h", 2),
        (5, "%", "1", 0.05),
        (3, "furlong", "furlong", 3),
    ],
)
def test_a_limit_is_turned_into_the_unit_of_what_it_bounds(
    number: float, unit: str, to: str, expected: float
) -> None:
    assert convert(number, unit, to) == pytest.approx(expected)


@pytest.mark.parametrize(("unit", "to"), [("us", "MB/s"), ("%", "us"), ("MB", "MB/s")])
def test_units_of_different_things_do_not_compare(unit: str, to: str) -> None:
    with pytest.raises(ValueError, match="not a unit of what is measured in"):
        convert(1, unit, to)


@pytest.mark.parametrize(("unit", "to"), [("s", "steps/s"), ("min", "in")])
def test_of_units_that_are_not_known_none_is_called_wrong(unit: str, to: str) -> None:
    with pytest.raises(ValueError, match=f"{unit} cannot be converted to {to}; write the limit in {to}"):
        convert(1, unit, to)


@pytest.mark.parametrize("limit", ["1234567", "1234567.5", "0.30000000000000004", "2.5"])
def test_a_bound_has_all_digits_of_its_limit(limit: str) -> None:
    assert bound(f"value(iops) < {limit}").text == f"value(iops) < {limit}"


def test_a_rule_that_is_given_again_is_judged_once() -> None:
    """Judged twice, it needed stronger evidence, for all comparisons of a check are corrected together."""
    text = "overhead() > 5 %"
    sources = [
        RuleSource(text=text, kind=Kind.FAIL_IF, where="rules.yaml:2:1", name="slow"),
        RuleSource(text=text, kind=Kind.FAIL_IF, where="rules.yaml:3:1", name="slower"),
        RuleSource(text="overhead()  > 5 %", kind=Kind.FAIL_IF, where="--fail-if"),
        RuleSource(text=text, kind=Kind.PASS_IF, where="--pass-if"),
        RuleSource(text=text, kind=Kind.PASS_IF, where="--pass-if"),
    ]
    assert [(rule.kind, rule.name) for rule in parse_rules(sources)] == [
        (Kind.FAIL_IF, "slow"),
        (Kind.FAIL_IF, "slower"),
        (Kind.PASS_IF, text),
    ]
