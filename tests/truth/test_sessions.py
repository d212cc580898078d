"""What did not run together is not compared as if it had: campaigns with a known truth."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from support.journals import summed
from tare.analysis.block_series import block_series
from tare.analysis.causes.correlates import explanations
from tare.analysis.repeats.stopping import StoppingRule
from tare.analysis.table import tabulate
from tare.analysis.trust.quality import quality
from tare.analysis.trust.session_changes import session_changes
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.headline import Headline, headlines
from tare.analysis.verdicts.variability import variabilities
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.report.sections.design import design
from tare.report.sections.quality_warnings import quality_warnings
from tare.report.variants import lay_out
from tare.report.words.answer import reading
from tare.storage.campaign import read_campaign
from truth.campaigns import Figure, Truth, campaign, campaigns, write
from truth.claims import claims_difference
from truth.noise import lognormal

SLOWER = Truth(
    factors={"network": ("a", "b", "c")},
    noise=lognormal(0.002),
    blocks=6,
    late=("network", "c"),
    late_slower=1.2,
)
"""Levels a and b run for 6 blocks; the machine gets 20 % slower; then c, the same program, is added."""

ALONE = dataclasses.replace(SLOWER, late_reference=False)


def said(found: Campaign) -> list[Comparison | Headline]:
    """Return what is said of contenders, in each place where it is said."""
    return [*aggregates(found), *comparisons(found), *headlines(found)]


def test_a_level_added_after_a_slow_down_is_held_against_the_reference_that_ran_beside_it() -> None:
    found = campaign(SLOWER)
    for one in said(found):
        assert not claims_difference(one), one
        assert one.n_blocks == 6
        assert one.is_paired
        assert one.ratio == pytest.approx(1, abs=0.01)


def test_a_level_that_never_ran_beside_the_reference_is_not_measured_together() -> None:
    found = campaign(ALONE)
    for one in said(found):
        if one.contender["network"] == "c":
            assert (one.ratio, one.low, one.n_blocks) == (None, None, 0)
            assert one.verdict is Verdict.UNDECIDED
            assert one.note.startswith("not measured together")
            assert one.is_apart
        else:
            assert one.n_blocks == 6
    scatter = next(one for one in variabilities(found) if one.contender["network"] == "c")
    assert (scatter.ratio, scatter.note) == (None, "not measured together")


def test_what_did_not_run_together_is_compared_where_asked_and_marked() -> None:
    found = msgspec.structs.replace(campaign(ALONE), is_unpaired=True)
    for one in said(found):
        if one.contender["network"] == "c":
            assert one.ratio == pytest.approx(1.2, abs=0.01)
            assert not one.is_paired
            assert one.note.startswith("unpaired: the sides did not run together, and the machine may")
        else:
            assert one.is_paired


def test_two_sides_of_one_block_that_ran_in_two_sessions_are_no_pair() -> None:
    """A run that failed is tried again a day later, on a slower machine; its reference is not."""
    found = campaign(Truth(noise=lognormal(0.002), blocks=6))
    overlay = found.plan.cases[1].id
    late = {2, 5}
    attempts = tuple(
        one if one.case != overlay or one.block not in late else _tried_again(one, 1.3)
        for one in found.attempts
    )
    moved = msgspec.structs.replace(found, attempts=attempts)
    for one in said(moved):
        assert one.n_blocks == 4
        assert not claims_difference(one)


def _tried_again(one: Attempt, slower: float) -> Attempt:
    series = [
        msgspec.structs.replace(held, values=[value * slower for value in held.values]) for held in one.series
    ]
    return msgspec.structs.replace(one, session=2, attempt=2, series=series)


def test_a_case_that_ran_in_two_sessions_is_estimated_from_all_of_them() -> None:
    table = tabulate(campaign(SLOWER))
    case = campaign(SLOWER).plan.cases[0].id
    column = table.values[:, next(iter(table.columns[case].values()))]
    assert int(np.isfinite(column).sum()) == 12
    assert len(table.passes) == 12
    assert sorted(table.passes) == list(table.passes)


def test_what_changed_between_sessions_is_neither_a_drift_nor_a_mode_nor_scatter() -> None:
    found = campaign(SLOWER, seed=3)
    assert [one for one in quality(found).warnings if one.is_serious] == []
    assert block_series(found).logs.shape[0] == 12
    for one in variabilities(found):
        assert one.n_blocks == 6
        assert one.reference_cv is not None
        assert one.reference_cv < 0.01


def test_precision_is_judged_on_what_ran_together() -> None:
    found = campaign(SLOWER)
    rule = StoppingRule(found.plan, until=0.02)
    for one in found.attempts:
        rule.add(one)
    assert {one.n_blocks for one in rule.precisions()} == {6}
    assert all(one.half_width is not None and one.half_width < 0.02 for one in rule.precisions())


def test_a_cause_is_not_looked_for_in_runs_of_another_time() -> None:
    """The reference's interrupts rise between the sessions, and so do the contender's: nothing differs."""
    found = campaign(SLOWER)
    attempts = tuple(
        msgspec.structs.replace(
            one, telemetry={"cpu_system": (5.0 if one.session == 1 else 20.0) + 0.01 * one.block}
        )
        for one in found.attempts
    )
    assert explanations(msgspec.structs.replace(found, attempts=attempts)) == []


@pytest.mark.parametrize("truth", [SLOWER, ALONE], ids=["beside", "alone"])
def test_sessions_are_read_from_a_journal_that_does_not_number_them(truth: Truth, tmp_path: Path) -> None:
    folder = write(truth, tmp_path / "campaign")
    journal = folder / "journal.jsonl"
    journal.write_text(summed(journal.read_text().replace(',"session":1', "").replace(',"session":2', "")))
    read = read_campaign(folder)
    assert [one.number for one in read.sessions] == [1, 2]
    assert [one.session for one in read.attempts] == [one.session for one in campaign(truth).attempts]
    assert not any(claims_difference(one) for one in aggregates(read))


def test_a_reference_that_failed_in_the_second_session_leaves_its_contender_without_a_pair() -> None:
    found = campaign(SLOWER)
    reference = found.plan.cases[0].id
    attempts = tuple(
        msgspec.structs.replace(one, state=State.FAILED, series=[])
        if (one.case, one.session) == (reference, 2) and one.block > 2
        else one
        for one in found.attempts
    )
    lost = msgspec.structs.replace(found, attempts=attempts)
    row = next(one for one in aggregates(lost) if one.contender["network"] == "c")
    assert (row.n_blocks, row.low, row.verdict) == (2, None, Verdict.UNDECIDED)
    assert row.note == "too few blocks with both sides: an interval takes 3"


def test_how_much_the_machine_changed_between_sessions_is_told_as_a_number_everywhere() -> None:
    """The machine got 20 % slower, and the reference, which ran in both sessions, tells it."""
    found = campaign(SLOWER)
    (one,) = session_changes(found)
    assert (one.case, one.before, one.after, one.n_before, one.n_after) == (
        found.plan.cases[0].id,
        1,
        2,
        6,
        6,
    )
    assert one.is_reference
    assert one.is_serious
    assert one.low < 1.2 < one.high
    assert one.ratio == pytest.approx(1.2, abs=0.01)
    sentence = re.compile(
        r"he reference itself \(a\b.*\) measured time \+20\.?\d? % \[1[89]\S*, 2[01]\S*\] "
        "in session 2 next to session 1"
    )
    assert sentence.search(plain(" ".join(design(found))))
    variants = lay_out(found, ())
    told = quality_warnings(quality(found), found, variants)
    assert sentence.search(plain(" ".join(row.finding for row in told.rows)))
    assert not told.is_clear


def test_a_machine_that_did_not_change_is_not_said_to_have() -> None:
    found = campaign(dataclasses.replace(SLOWER, late_slower=1.0))
    (one,) = session_changes(found)
    assert not one.is_serious
    assert "itself" not in " ".join(design(found))
    assert session_changes(campaign(Truth(blocks=6))) == ()


def test_changes_between_sessions_are_seldom_claimed_of_a_machine_that_did_not_change() -> None:
    """Of 400 studies with six cases in both sessions, claims of any change, whatever the margin."""
    truth = Truth(
        factors={"network": ("a", "b", "c", "d", "e", "f")}, noise=lognormal(0.02), blocks=8, margin=0.0
    )
    false = 0
    for found in campaigns(truth, 400):
        moved = tuple(msgspec.structs.replace(one, session=1 + (one.block > 4)) for one in found.attempts)
        false += any(
            one.is_serious for one in session_changes(msgspec.structs.replace(found, attempts=moved))
        )
    assert 0 < false / 400 <= 0.05 + 0.02


def plain(text: str) -> str:
    return text.replace("\u202f", " ").replace("\u00a0", " ").replace("\u2009", " ")


@pytest.mark.parametrize("seed", range(1, 7))
def test_what_was_rounded_widens_the_interval_of_a_change_between_sessions(seed: int) -> None:
    """A rate of 10 is 8.33 on the slower machine, and both are printed as whole numbers: 10 and 8."""
    rate = Figure(name="rate", unit="GUP/s", better=Better.HIGHER)
    truth = dataclasses.replace(SLOWER, decimals=0, workloads={"hpcc": (rate,)})
    for one in session_changes(campaign(truth, seed=seed)):
        assert one.low <= 1 / 1.2 <= one.high


def test_brackets_are_of_as_many_blocks_as_intervals_have() -> None:
    few = headlines(campaign(Truth(blocks=2)))
    assert "In brackets" not in reading(few, 0.02)
    assert reading(few, 0.02).startswith("No number has an interval")
