"""The book, kept up event by event, agrees at any moment with the campaign as it is read from its folder."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from report.studies import three_networks, with_gaps
from support.synthetic import make_campaign, write_campaign
from tare.core.attempt import State
from tare.core.case import Run
from tare.core.study import Repeats
from tare.live.view import card
from tare.live.watch import FollowedCampaign, Hub
from tare.report.words.accounting import account
from tare.storage.campaign import JOURNAL, PLAN, read_campaign
from tare.storage.journal import AttemptBegan, AttemptEnded, AttemptWaits, Journal


def only(hub: Hub) -> FollowedCampaign:
    (found,) = hub.campaigns.values()
    return found


@pytest.mark.parametrize("is_held", [True, False])
def test_after_each_event_the_state_is_that_of_the_campaign(tmp_path: Path, is_held: bool) -> None:
    whole = with_gaps(three_networks(blocks=2))
    folder = write_campaign(msgspec.structs.replace(whole, attempts=()), tmp_path / "c")
    hub = Hub([folder])
    holder = Journal(folder / JOURNAL)

    def check() -> None:
        hub.poll()
        found = only(hub).campaign_state
        assert found is not None
        expected = read_campaign(folder)
        assert found.campaign() == msgspec.structs.replace(expected, environments={})
        assert found.progress().counts == dict.fromkeys(State, 0) | account(expected).states
        assert [found.state(run) for run in found.planned] == [
            expected.latest()[run].state if run in expected.latest() else State.PENDING
            for run in expected.planned()
        ]

    for attempt in whole.attempts:
        for event in (AttemptBegan(attempt.case, attempt.block, attempt.attempt, 1.0), AttemptEnded(attempt)):
            holder.append(event, is_synced=False)
            if is_held:
                check()
    case = whole.attempts[0].case
    with holder:
        holder.append(AttemptBegan(case, 2, 9, 1.0))  # never ends: it is lost
        holder.append(AttemptWaits(case, 2, 9, 1.5, "Slurm does not answer"))
        check()
        assert "Slurm does not answer" in {one.reason for one in read_campaign(folder).attempts}
        holder.append(AttemptWaits(case, 2, 9, 1.6))
        check()
    check()


def test_time_left_is_that_of_the_runs_to_come_and_only_reported_of_a_live_campaign(tmp_path: Path) -> None:
    whole = make_campaign(blocks=4)
    half = msgspec.structs.replace(whole, attempts=whole.attempts[:6])
    folder = write_campaign(half, tmp_path / "c")
    hub = Hub([folder])
    with Journal(folder / JOURNAL):
        hub.poll()
        campaign_state = only(hub).campaign_state
        assert campaign_state is not None
        assert campaign_state.progress().eta_s == 2.0  # two runs of a second each
        assert not campaign_state.progress().is_least
    hub.poll()
    assert campaign_state.progress().eta_s is None


@pytest.mark.parametrize(
    ("most", "words"), [(4, r"about 2\S* s left, until \d"), (9, r"at least 2\S* s left, until .* or later")]
)
def test_the_time_left_is_the_least_where_a_rule_may_add_blocks(
    tmp_path: Path, most: int, words: str
) -> None:
    whole = make_campaign(blocks=4)
    half = msgspec.structs.replace(
        whole,
        plan=msgspec.structs.replace(whole.plan, repeats=Repeats(min=4, max=most, until=0.01)),
        attempts=whole.attempts[:6],
    )
    folder = write_campaign(half, tmp_path / "c")
    hub = Hub([folder])
    with Journal(folder / JOURNAL):
        hub.poll()
        campaign_state = only(hub).campaign_state
        assert campaign_state is not None
        assert re.search(words, card("c", "c", campaign_state, "").eta)


def test_only_runs_that_changed_are_reported_after_a_revision(tmp_path: Path) -> None:
    whole = make_campaign(blocks=3)
    folder = write_campaign(msgspec.structs.replace(whole, attempts=whole.attempts[:3]), tmp_path / "c")
    hub = Hub([folder])
    hub.poll()
    campaign_state, before = only(hub).campaign_state, hub.revision
    assert campaign_state is not None
    with Journal(folder / JOURNAL) as journal:
        journal.append(AttemptEnded(whole.attempts[3]))
    hub.poll()
    assert list(campaign_state.changed_since(before)) == [
        Run(whole.attempts[3].block, whole.attempts[3].case)
    ]
    assert list(campaign_state.changed_since(hub.revision)) == []


def test_a_folder_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    folder = write_campaign(three_networks(blocks=2), tmp_path / "c")
    hub = Hub([folder])
    hub.poll()
    folder.rename(tmp_path / "old")
    write_campaign(make_campaign(blocks=1), folder)
    hub.poll()
    campaign_state = only(hub).campaign_state
    assert campaign_state is not None
    assert len(campaign_state.attempts) == 2
    assert len(campaign_state.cases) == 2


def test_a_plan_that_grows_is_taken_up(tmp_path: Path) -> None:
    folder = write_campaign(make_campaign(blocks=1), tmp_path / "c")
    hub = Hub([folder])
    hub.poll()
    write_campaign(make_campaign(blocks=3), folder)
    hub.poll()
    campaign_state = only(hub).campaign_state
    assert campaign_state is not None
    assert campaign_state.progress().n_planned == 6


def test_a_damaged_plan_is_reported_and_does_not_end_the_watch(tmp_path: Path) -> None:
    good, bad = (write_campaign(make_campaign(blocks=1), tmp_path / name) for name in ("good", "bad"))
    (bad / PLAN).write_text("{")
    hub = Hub([tmp_path])
    hub.poll()
    assert "damaged" in hub.campaigns["bad"].fault
    assert hub.campaigns["good"].campaign_state is not None
    assert good.exists()


def test_campaigns_come_and_go_and_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    hub = Hub([tmp_path / "one", tmp_path / "two"])
    hub.poll()
    assert hub.campaigns == {}
    write_campaign(make_campaign(blocks=1), tmp_path / "one" / "same")
    hub.poll()
    first = hub.campaigns["same"]
    write_campaign(make_campaign(blocks=1), tmp_path / "two" / "same")
    hub.poll()
    assert list(hub.campaigns) == ["same", "same~2"]
    assert hub.campaigns["same"] is first
    (tmp_path / "one" / "same" / PLAN).unlink()
    hub.poll()
    assert list(hub.campaigns) == ["same~2"]


def test_statistics_are_not_computed_again_until_a_run_has_ended_and_a_while_has_passed(
    tmp_path: Path,
) -> None:
    whole = make_campaign(blocks=4)
    folder = write_campaign(msgspec.structs.replace(whole, attempts=whole.attempts[:6]), tmp_path / "c")
    now = 100.0
    hub = Hub([folder], clock=lambda: now)
    hub.poll()
    watched = only(hub)
    with hub.opened(watched) as opened:
        assert opened is not None
    assert not watched.are_statistics_due(now + 60)
    with Journal(folder / JOURNAL) as journal:
        journal.append(AttemptEnded(whole.attempts[6]))
    hub.poll()
    assert not watched.are_statistics_due(now + 1)
    assert watched.are_statistics_due(now + 2)


def test_statistics_that_take_long_are_computed_less_often(tmp_path: Path) -> None:
    folder = write_campaign(make_campaign(blocks=3), tmp_path / "c")
    hub = Hub([folder])
    hub.poll()
    watched = only(hub)
    with hub.opened(watched) as opened:
        assert opened is not None
        _, statistics = opened
    watched.set_statistics(dataclasses.replace(statistics, revision=0), took_s=3.0, now=100.0)
    assert not watched.are_statistics_due(120.0)
    assert watched.are_statistics_due(130.0)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_journal_that_is_no_file_is_reported_and_nobody_waits_for_it(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    folder = write_campaign(make_campaign(blocks=1), tmp_path / "c")
    (folder / JOURNAL).unlink()
    make(folder / JOURNAL)
    hub = Hub([folder])
    hub.poll()
    assert "cannot be read" in only(hub).fault
