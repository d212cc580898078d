"""Scales whose times were printed as zero, or that ran at another time: no false word of their efficiency."""

from __future__ import annotations

import msgspec
import pytest

from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.scales.curves import curves
from tare.analysis.scales.scaling import scalings
from tare.core.scaling import Law
from tare.report.words.scaling import sentences
from truth.campaigns import Truth, campaign
from truth.noise import lognormal

ZEROS = Truth(
    factors={"network": ("a", "b"), "nodes": (1, 2, 4, 8)},
    blocks=10,
    zeros=0.05,
    noise=lognormal(0.02),
    slowing=lambda settings, fom: 1 / float(settings["nodes"]),
)
"""Scales ideally; one in twenty times is zero."""


@pytest.mark.parametrize("seed", range(1, 6))
def test_what_scales_ideally_is_not_said_to_be_inefficient_since_a_time_was_zero(seed: int) -> None:
    for curve in scalings(campaign(ZEROS, seed=seed)):
        for point in curve.measured:
            assert point.efficiency is not None
            assert point.efficiency.low is None or point.efficiency.low <= 1
            assert point.efficiency.high is None or point.efficiency.high >= 1
        text = " ".join(sentences(curve))
        assert "is below" not in text
        assert "negative" not in text
        noted = [point for point in curve.measured if "arithmetic means" in point.note]
        fits = [fit for fit in curve.fits if fit.refusal == "some values are zero or less"]
        assert bool(noted) == bool(fits)
        assert {fit.law for fit in fits} <= {Law.AMDAHL, Law.USL}


def test_a_time_of_zero_is_no_saturation() -> None:
    truth = Truth(
        factors={"network": ("a", "b"), "threads": (1, 2, 4, 8)},
        blocks=10,
        zeros=0.2,
        slowing=lambda settings, fom: 1 / float(settings["threads"]),
    )
    assert curves(campaign(truth)).saturations == ()


def test_an_efficiency_that_is_not_known_is_not_said_to_be_low() -> None:
    """Eight nodes ran in another session than the rest, and nothing at one node beside them."""
    truth = Truth(factors={"nodes": (1, 2, 4, 8)}, reference={}, late=("nodes", 8), late_reference=False)
    (curve,) = scalings(campaign(truth))
    last = curve.points[-1]
    assert last.efficiency is None
    told = [one.replace("\u202f", " ") for one in sentences(curve)]
    assert told[0].startswith("× ")
    assert "on 4 nodes as on 1" in told[0]
    assert told[-1] == "Not measured together with 1 node: 8 nodes."
    assert not [one for one in told if "negative" in one]


@pytest.mark.parametrize("late_slower", [1.0, 3.0])
def test_a_law_holds_scales_that_were_added_later_on_a_slower_machine(late_slower: float) -> None:
    """Eight nodes ran a day later, beside one node; the program scales ideally."""
    truth = Truth(
        factors={"nodes": (1, 2, 4, 8)},
        reference={"nodes": 1},
        late=("nodes", 8),
        late_slower=late_slower,
        slowing=lambda settings, fom: 1 / float(settings["nodes"]),
        noise=lognormal(0.002),
    )
    (curve,) = scalings(campaign(truth))
    assert curve.points[-1].efficiency is not None
    for fit in curve.fits:
        assert fit.misfit is not None
        assert fit.misfit < 0.02
        assert fit.parameters["sigma"].value < 0.01
        assert fit.parameters["sigma"].high is not None


def test_a_law_leaves_out_a_scale_beside_which_the_base_did_not_run() -> None:
    truth = Truth(
        factors={"nodes": (1, 2, 8)},
        reference={},
        late=("nodes", 8),
        late_reference=False,
        late_slower=3.0,
        slowing=lambda settings, fom: 1 / float(settings["nodes"]),
    )
    (curve,) = scalings(campaign(truth))
    assert curve.fits[0].refusal == "2 scales were measured together; Amdahl takes 3 or more"


def test_a_scale_that_ran_a_day_later_is_held_against_nothing_that_ran_before() -> None:
    """The machine is 30 % slower by then; what ran at one node beside it is not there."""
    truth = Truth(
        factors={"nodes": (1, 2, 4, 8)},
        reference={},
        late=("nodes", 8),
        late_reference=False,
        late_slower=3.0,
        slowing=lambda settings, fom: 1 / float(settings["nodes"]),
    )
    found = campaign(truth)
    (curve,) = scalings(found)
    assert curve.points[-1].efficiency is None
    assert curve.points[-1].note == "not measured together"
    assert not any(point.remarks for point in curve.points)
    (asked,) = scalings(msgspec.structs.replace(found, is_unpaired=True))
    assert asked.points[-1].efficiency is not None
    assert asked.points[-1].note == "unpaired"
    rule = RuleSource(text="efficiency(nodes=8) < 50 %", kind=Kind.FAIL_IF, where="test")
    (verdict,) = check(found, parse_rules([rule])).verdicts
    assert [one.outcome for one in verdict.judged] == [Outcome.UNDECIDED]
