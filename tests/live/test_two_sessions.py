"""The live page of a campaign that goes on in a second session."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.synthetic import make_case, make_plan
from tare.core.attempt import Attempt, State
from tare.core.case import Case
from tare.live.campaign_state import CampaignState
from tare.storage.journal import AttemptBegan, AttemptEnded, BlockBegan, Event, SessionBegan

HOST, OVERLAY, MACVLAN = CASES = tuple(make_case(network) for network in ("host", "overlay", "macvlan"))
DAY_S = 86400.0


def ran(case: Case, block: int, number: int, at: float, state: State = State.DONE) -> list[Event]:
    """Return the events of a run of 10 s."""
    one = Attempt(
        case=case.id, block=block, attempt=number, state=state, started_at=at, elapsed_s=10.0, hosts=["n1"]
    )
    return [AttemptBegan(case.id, block, number, at), AttemptEnded(one)]


def first(state: State = State.DONE) -> list[Event]:
    """Return a session of host and overlay, of two blocks; the overlay of block 2 ends in `state`."""
    events: list[Event] = [SessionBegan(1e9, "", continues=False, blocks=2)]
    for block in (1, 2):
        at = 1e9 + 100 * block
        last = state if block == 2 else State.DONE
        events += [BlockBegan(block, [HOST.id, OVERLAY.id]), *ran(HOST, block, 1, at)]
        events += ran(OVERLAY, block, 1, at + 20, last)
    return events


def campaign_state(cases: tuple[Case, ...], *events: Event) -> CampaignState:
    """Return what the page knows after `events`, while a process holds the campaign."""
    found = CampaignState(Path("c"), make_plan(cases, blocks=2), 0)
    for revision, event in enumerate(events, 1):
        found.apply(event, revision)
    found.run_by(len(events) + 1, is_running=True)
    return found


def test_the_end_is_expected_after_the_runs_that_are_made_once_more() -> None:
    """Macvlan is added: two runs of it, and two of its reference, of 10 s each."""
    second = [SessionBegan(1e9 + DAY_S, "", continues=False, blocks=2)]
    found = campaign_state(CASES, *first(), *second)
    assert found.progress().eta_s == pytest.approx(40)
    at = 1e9 + DAY_S + 1
    begun = [BlockBegan(1, [MACVLAN.id, HOST.id], [HOST.id]), *ran(MACVLAN, 1, 1, at)]
    assert campaign_state(CASES, *first(), *second, *begun).progress().eta_s == pytest.approx(30)
    under_way = AttemptBegan(HOST.id, 1, 2, at + 10)
    now = campaign_state(CASES, *first(), *second, *begun, under_way)
    assert now.progress().eta_s == pytest.approx(30)
    assert [one.case for one in now.progress().under_way] == [HOST.id]
    assert now.progress().counts[State.RUNNING] == 1


def test_the_end_is_expected_after_what_is_tried_again_with_its_reference() -> None:
    second = SessionBegan(1e9 + DAY_S, "", continues=False, blocks=2, is_retrying=True)
    found = campaign_state(CASES[:2], *first(State.FAILED), second)
    assert found.progress().eta_s == pytest.approx(20)


def test_in_the_first_session_all_that_is_planned_is_left() -> None:
    found = campaign_state(CASES, *first()[:4])
    assert found.progress().eta_s == pytest.approx(50)
    assert found.progress().n_planned == 6
