"""A part of the values without those of zero is no fair sample, so nothing is said of it."""

from __future__ import annotations

import msgspec
import pytest

from report.studies import page_of
from support.planned import about, make_planned
from support.scales import make_application
from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.estimate import estimates
from tare.analysis.scales.scaling import scalings
from tare.analysis.trust.quality import quality
from tare.analysis.verdicts.compare import aggregates
from tare.analysis.verdicts.distribution import diagnose
from tare.core.campaign import Campaign
from tare.core.comparison import Mean
from tare.core.workload import Better, Fom
from tare.report.words.scaling import efficiency_words, sentences, speedup_words

DROPS = Fom(name="drops", unit="1", better=Better.LOWER, is_primary=True)


def with_zeros(n: int, *, host: float = 10.0) -> Campaign:
    """Return a campaign whose contender has `n` values of zero."""
    overlay = [*[0.0] * n, *about(30.0, 8 - n)]
    return make_planned({"host": {DROPS: about(host, 8)}, "overlay": {DROPS: overlay}})


@pytest.mark.parametrize("n", [1, 2, 8])
def test_no_ranks_are_quoted_of_values_of_zero(n: int) -> None:
    (one,) = aggregates(with_zeros(n))
    assert one.ratio is not None
    assert one.hodges_lehmann is None


def test_no_ranks_are_quoted_of_values_below_zero() -> None:
    below = [-5.0, *about(10.0, 7)]
    (one,) = aggregates(make_planned({side: {DROPS: below} for side in ("host", "overlay")}))
    assert one.hodges_lehmann is None


def test_values_of_zero_are_not_tested_for_being_log_normal() -> None:
    found = diagnose(with_zeros(2))
    assert (found.n_tested, found.n_constant) == (0, 0)


def test_a_series_with_a_zero_is_neither_tested_nor_is_its_scatter_that_of_the_rest() -> None:
    found = quality(with_zeros(1))
    assert (max(found.n_tested.values()), found.n_figures) == (1, 2)
    scatters = dict(zip(("host", "overlay"), (one.cv for one in found.scatters), strict=True))
    assert scatters["host"] is not None
    assert scatters["overlay"] is None


def test_a_rule_on_scatter_does_not_call_values_of_zero_unmeasured() -> None:
    asked = parse_rule(RuleSource(text="cv_ratio(drops) > 2", kind=Kind.FAIL_IF, where="--fail-if"))
    (one,) = check(with_zeros(1), [asked]).verdicts[0].judged
    assert one.why == "not computed: some values are zero or less"


def test_a_rule_on_efficiency_does_not_speak_of_an_overhead() -> None:
    asked = parse_rule(RuleSource(text="efficiency(ns_per_day) < 50 %", kind=Kind.FAIL_IF, where="--fail-if"))
    found = make_application({"host": lambda case: -5.0}, (1, 2))
    (one,) = check(found, [asked]).verdicts[0].judged
    assert one.why.startswith("no speedup: a mean is zero or less")


def test_values_too_near_to_zero_are_said_to_count_as_zero() -> None:
    tiny = [1e-300] * 6
    found = make_planned({side: {DROPS: tiny} for side in ("host", "overlay")})
    (row,) = aggregates(found)
    assert row.note.endswith("zero or less; values nearer to 0 than 10⁻⁶⁰ count as 0")
    assert all("count as 0" in one.note for one in estimates(found))
    assert "count as 0" not in aggregates(with_zeros(1))[0].note


@pytest.mark.parametrize("mean", [Mean.GEOMETRIC, Mean.HARMONIC, Mean.MEDIAN])
def test_a_ratio_of_other_means_than_asked_for_says_so(mean: Mean) -> None:
    (one,) = aggregates(msgspec.structs.replace(with_zeros(1), mean=mean))
    assert one.note.startswith("some values are zero or less: ratio of arithmetic means")
    positive = make_planned({side: {DROPS: about(3.0)} for side in ("host", "overlay")})
    assert "arithmetic" not in aggregates(msgspec.structs.replace(positive, mean=mean))[0].note


def test_the_method_of_ratios_names_those_of_arithmetic_means() -> None:
    assert "where values are zero or less they are those of arithmetic means" in page_of(with_zeros(1))
    assert "where values are zero or less they are those of arithmetic means" not in page_of(with_zeros(0))


@pytest.mark.parametrize(
    ("last", "told"),
    [(-3.0, "No speedup on 4 nodes: a mean is zero or less."), (30.0, "")],
    ids=["below zero", "above"],
)
def test_scales_that_ran_together_are_not_said_to_have_run_apart(last: float, told: str) -> None:
    values = {1: 10.0, 2: 20.0, 4: last}
    (curve,) = scalings(make_application({"host": lambda case: values[case.layout.nodes]}, (1, 2, 4)))
    text = " ".join(sentences(curve)).replace("\u202f", " ")
    assert told in text
    assert "Not measured together" not in text


def test_a_base_below_zero_has_no_speedup_itself() -> None:
    (curve,) = scalings(make_application({"host": lambda case: -5.0}, (1, 2)))
    assert sentences(curve) == ["No speedup: a mean is zero or less."]
    assert {speedup_words(curve, point) for point in curve.points} == {"–"}
    assert {efficiency_words(curve, point) for point in curve.points} == {"–"}
