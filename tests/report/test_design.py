"""How the runs were made is told as it happened."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from report.designs import LATER, ONE, change, text_of
from report.studies import part_of
from tare.core.attempt import State
from tare.core.campaign import Session
from tare.report.content import content
from tare.report.history import history
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.methods import Methods
from truth.campaigns import campaign


def test_a_plain_campaign_is_reported_plainly() -> None:
    text = text_of(campaign(ONE))
    assert "All runs of Tare were made in one session, 2001-09-09 01:46 to 01:58 UTC." in text
    assert "Each of 6 passes over cases of a block began its runs in the order that was drawn" in text
    assert "6 blocks. Each has a measured run of every case that it was begun with, made together." in text
    assert "No measured run was made twice." in text
    for other in ("Up to", "sessions", "warm-up", "does not count", "look", "resumed", "clock", "later"):
        assert other not in text


def test_a_case_that_always_ran_first_was_not_run_in_the_order_that_was_drawn() -> None:
    found = campaign(dataclasses.replace(ONE, blocks=8))
    first = found.plan.cases[0].id
    sorted_runs = change(
        found,
        lambda index, one: msgspec.structs.replace(
            one, started_at=1e9 + 120 * one.block + (0 if one.case == first else 60)
        ),
    )
    text = text_of(sorted_runs)
    assert "in another order than seed 1 draws at random; all were in one order." in text
    assert "began its runs in the order that was drawn" not in text


def test_all_blocks_of_one_case_before_those_of_the_other_are_not_passes_in_turn() -> None:
    found = campaign(ONE)
    first = found.plan.cases[0].id
    apart = change(
        found,
        lambda index, one: msgspec.structs.replace(
            one, started_at=1e9 + 60 * one.block + (0 if one.case == first else 36000)
        ),
    )
    assert "5 passes began before the one before it had begun all of its runs." in text_of(apart)


def test_runs_at_the_same_time_are_reported() -> None:
    found = change(
        campaign(ONE), lambda index, one: msgspec.structs.replace(one, started_at=1e9 + 60 * one.block)
    )
    assert "Up to 2 runs were made at a time." in text_of(found)


def test_a_block_that_lost_a_run_is_not_complete() -> None:
    found = change(campaign(ONE), lambda index, one: None if index in (0, 5) else one)
    assert "6 blocks, of which 4 have measured runs of all their cases, made together." in text_of(found)


@pytest.mark.parametrize(
    ("state", "is_infrastructure", "sentence"),
    [
        (State.FAILED, False, "1 run that had failed or was invalid was tried again on request."),
        (State.INVALID, False, "1 run that had failed or was invalid was tried again on request."),
        (State.FAILED, True, "1 further attempt was made because the infrastructure had failed"),
        (State.LOST, False, "1 further attempt was made because the infrastructure had failed"),
        (State.DONE, False, "1 run that had come out well was made once more in a later session"),
    ],
)
def test_why_a_run_was_made_twice_is_reported(state: State, is_infrastructure: bool, sentence: str) -> None:
    found = campaign(ONE)
    before = msgspec.structs.replace(found.attempts[3], state=state, is_infrastructure=is_infrastructure)
    again = msgspec.structs.replace(found.attempts[3], attempt=2, session=1 + (state is State.DONE))
    text = text_of(
        msgspec.structs.replace(found, attempts=(*found.attempts[:3], before, *found.attempts[4:], again))
    )
    assert sentence in text
    assert "No measured run was made twice." not in text
    others = ("infrastructure", "on request", "once more")
    assert sum(one in text for one in others) == 1


def test_warm_up_telemetry_and_what_does_not_count_are_reported() -> None:
    found = campaign(ONE)
    warm = [msgspec.structs.replace(one, block=0) for one in found.attempts[:2]]
    bad = msgspec.structs.replace(found.attempts[0], state=State.INVALID, series=[])
    watched = [msgspec.structs.replace(one, telemetry={"cpu_user": 1.0}) for one in found.attempts[1:3]]
    text = text_of(msgspec.structs.replace(found, attempts=(*warm, bad, *watched, *found.attempts[3:])))
    assert "2 warm-up runs do not count." in text
    assert "1 attempt does not count: 1 invalid." in text
    assert "suspended" not in text
    assert "The nodes were watched during 2 of 11 measured runs." in text


def test_an_attempt_that_was_lost_does_not_count_and_a_clock_that_jumped_is_reported() -> None:
    found = campaign(ONE)
    lost = msgspec.structs.replace(found.attempts[0], state=State.LOST, attempt=1, series=[])
    asleep = msgspec.structs.replace(
        found.attempts[1], state=State.FAILED, check="clock", is_infrastructure=True, series=[]
    )
    again = tuple(msgspec.structs.replace(one, attempt=2) for one in found.attempts[:2])
    text = text_of(msgspec.structs.replace(found, attempts=(lost, asleep, *again, *found.attempts[2:])))
    assert "2 attempts do not count: 1 failed and 1 lost." in text
    assert "During one of them the machine was suspended, or its clock was set." in text
    assert "2 further attempts were made because the infrastructure had failed" in text


def test_a_run_that_failed_when_it_was_made_once_more_was_not_tried_again_on_request() -> None:
    found = campaign(ONE)
    failed = msgspec.structs.replace(found.attempts[3], state=State.FAILED, attempt=2, session=2, series=[])
    third = msgspec.structs.replace(found.attempts[3], attempt=3, session=3)
    text = text_of(msgspec.structs.replace(found, attempts=(*found.attempts, failed, third)))
    assert "2 runs that had come out well were made once more in a later session" in text
    assert "on request" not in text
    asked = msgspec.structs.replace(
        found,
        attempts=(*found.attempts, failed, third),
        sessions=tuple(
            Session(number=number, began_at=1e9, tare="", is_retrying=number == 3) for number in (1, 2, 3)
        ),
    )
    assert "1 run that had come out well was made once more" in text_of(asked)
    assert "1 run that had failed or was invalid was tried again on request." in text_of(asked)


def test_the_page_states_of_no_pairs_that_they_cancel_anything(tmp_path: Path) -> None:
    alone = campaign(dataclasses.replace(LATER, late_reference=False))
    only = change(alone, lambda index, one: None if one.case == alone.plan.cases[1].id else one)
    methods = part_of(content(only, ReportStatistics.of(only)), Methods)
    assert not methods.has_pairs
    assert not methods.has_unpaired
    asked = msgspec.structs.replace(only, is_unpaired=True)
    assert part_of(content(asked, ReportStatistics.of(asked)), Methods).has_unpaired
    assert history(only).n_again == 0
