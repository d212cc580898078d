"""Within a session, too, only what ran together is paired: campaigns with a known truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tare.analysis.trust.interrupted_blocks import parted
from tare.analysis.verdicts.compare import aggregates
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.report.sections.design import design
from tare.storage.campaign import read_campaign
from tare.storage.journal import AttemptEnded, Journal
from truth.campaigns import Truth, campaign, campaigns, write
from truth.claims import claims_difference
from truth.noise import lognormal

HOUR = 3600.0
QUIET = Truth(factors={"network": ("a", "b")}, noise=lognormal(0.002), blocks=6)


def later(found: Campaign, after: int, by_s: float, slower: float = 1.0) -> Campaign:
    """Return `found` with all runs from the given one on so much later, on a machine so much slower."""

    def moved(index: int, one: Attempt) -> Attempt:
        if index < after:
            return one
        series = [
            msgspec.structs.replace(held, values=[value * slower for value in held.values])
            for held in one.series
        ]
        return msgspec.structs.replace(one, started_at=(one.started_at or 0) + by_s, series=series)

    attempts = tuple(moved(index, one) for index, one in enumerate(found.attempts))
    return msgspec.structs.replace(found, attempts=parted(attempts))


def test_a_machine_that_was_suspended_for_a_night_within_a_block_parts_it() -> None:
    """After run 7 of 12, within block 4; it wakes up 30 % slower."""
    found = later(campaign(QUIET), 7, 9 * HOUR, 1.3)
    (row,) = aggregates(found)
    assert row.n_blocks == 5
    assert row.ratio == pytest.approx(1, abs=0.01)
    assert not claims_difference(row)
    text = " ".join(design(found))
    assert "1 block was parted by a time in which nothing of it ran" in text
    assert "6 blocks, of which 5 have measured runs of all their cases, made together." in text


def test_between_blocks_a_night_parts_nothing() -> None:
    found = later(campaign(QUIET), 6, 9 * HOUR, 1.3)
    (row,) = aggregates(found)
    assert row.n_blocks == 6
    assert "parted" not in " ".join(design(found))


def _spread(found: Campaign, wait_s: Callable[[int], float]) -> Campaign:
    at, attempts = 1e9, []
    for index, one in enumerate(found.attempts):
        at += wait_s(index)
        attempts.append(msgspec.structs.replace(one, started_at=at))
        at += one.elapsed_s
    return msgspec.structs.replace(found, attempts=parted(attempts))


def test_a_queue_in_which_every_run_waits_for_hours_parts_nothing_and_is_told() -> None:
    found = _spread(campaign(QUIET), lambda index: (1 + index % 3) * HOUR)
    (row,) = aggregates(found)
    assert row.n_blocks == 6
    text = " ".join(design(found))
    assert "Within a block, nothing of it ran for up to 3 h, which parts no pairs" in text
    assert "parted" not in text


def test_short_waits_part_nothing_and_are_not_told() -> None:
    text = " ".join(design(_spread(campaign(QUIET), lambda index: 290.0 if index == 5 else 1.0)))
    assert "parted" not in text
    assert "Within a block" not in text


def test_runs_at_the_same_time_have_no_time_between_them() -> None:
    found = campaign(QUIET)
    attempts = tuple(
        msgspec.structs.replace(one, started_at=1e9 + one.block * HOUR, elapsed_s=HOUR)
        for one in found.attempts
    )
    assert parted(attempts) == attempts


def test_an_adopted_job_that_ran_at_night_is_not_held_against_the_evening(tmp_path: Path) -> None:
    folder = write(QUIET, tmp_path / "campaign")
    found = read_campaign(folder)
    last = max(found.attempts, key=lambda one: one.started_at or 0)
    moved = msgspec.structs.replace(last, started_at=(last.started_at or 0) + 9 * HOUR)
    with Journal(folder / "journal.jsonl") as journal:
        journal.append(AttemptEnded(moved))
    (row,) = aggregates(read_campaign(folder))
    assert row.n_blocks == 5


def test_nights_within_blocks_make_no_false_claims() -> None:
    """Of 300 studies of nothing, each parted within a block by a night after which all is 30 % slower."""
    truth = Truth(factors={"network": ("a", "b")}, noise=lognormal(0.02), blocks=5)
    false = sum(
        claims_difference(row)
        for number, found in enumerate(campaigns(truth, 300))
        for row in aggregates(later(found, 1 + 2 * (number % 5), 9 * HOUR, 1.3))
    )
    assert false / 300 <= 0.05 + 0.025
