"""What a session runs, and what of it once more, so that what is compared ran together."""

from __future__ import annotations

from collections.abc import Iterable

from support.synthetic import make_case, make_plan
from tare.analysis.pairing import Outstanding, Passing, compared
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Pass, Run

HOST, OVERLAY, MACVLAN = CASES = tuple(make_case(network) for network in ("host", "overlay", "macvlan"))
IDS = [case.id for case in CASES]


def left(
    session: int, *attempts: tuple[Case, int, State], again: Iterable[Case] = (), flying: Iterable[Case] = ()
) -> tuple[list[str], list[str]]:
    """Return what `session` runs of block 1 after attempts, each of a session and with an outcome."""
    promised = {Pass(session - 1, 1): [case.id for case in again]}
    outstanding = Outstanding(make_plan(CASES), session, promised)
    for case, held, state in attempts:
        one = Attempt(case=case.id, block=1, attempt=1, state=state, started_at=0.0, session=held)
        outstanding.take(one, is_settled=one.is_settled)
    for case in flying:
        outstanding.take_under_way(Run(1, case.id), 1)
    return outstanding.of_block(1, IDS)[:2]


DONE, LOST, FAILED = State.DONE, State.LOST, State.FAILED


def test_within_a_session_nothing_is_run_again() -> None:
    assert left(1) == (IDS, [])
    assert left(1, (HOST, 1, DONE), (OVERLAY, 1, LOST)) == ([OVERLAY.id, MACVLAN.id], [])
    assert left(2, *((case, 1, DONE) for case in CASES)) == ([], [])


def test_what_is_left_runs_beside_its_reference_again() -> None:
    assert left(2, (HOST, 1, DONE), (OVERLAY, 1, DONE)) == ([HOST.id, MACVLAN.id], [HOST.id])


def test_a_reference_that_is_left_runs_beside_its_contenders_again() -> None:
    assert left(2, (OVERLAY, 1, DONE), (MACVLAN, 1, DONE)) == (IDS, [OVERLAY.id, MACVLAN.id])


def test_what_failed_by_itself_makes_nothing_run_again() -> None:
    assert left(2, (HOST, 1, FAILED), (OVERLAY, 1, DONE)) == ([MACVLAN.id], [])
    assert left(2, (OVERLAY, 1, FAILED), (MACVLAN, 1, DONE)) == ([HOST.id, MACVLAN.id], [MACVLAN.id])


def test_what_was_to_run_once_more_and_did_not_is_left() -> None:
    known = (HOST, 1, DONE), (OVERLAY, 1, DONE), (MACVLAN, 2, DONE)
    assert left(3, *known, again=[HOST]) == ([HOST.id, MACVLAN.id], [HOST.id, MACVLAN.id])
    assert left(3, *known, (HOST, 2, DONE), again=[HOST]) == ([], [])
    assert left(3, *known) == ([], []), "no session before this version has promised anything"


def parted(session: int, *attempts: tuple[Case, int, int, State]) -> Passing:
    """Return what `session` runs of block 1 after attempts, each of a session and a part of its block."""
    outstanding = Outstanding(make_plan(CASES), session)
    for case, held, part, state in attempts:
        one = Attempt(case=case.id, block=1, attempt=1, state=state, started_at=0.0, session=held, part=part)
        outstanding.take(one, is_settled=one.is_settled)
    return outstanding.of_block(1, IDS)


def test_a_pair_that_a_night_parted_is_run_once_more_by_the_next_session() -> None:
    night = (HOST, 1, 0, DONE), (OVERLAY, 1, 0, DONE), (MACVLAN, 1, 1, DONE)
    both = [HOST.id, MACVLAN.id]
    assert parted(2, *night) == (both, both, both)
    assert parted(1, *night) == ([], [], []), "within a session a run is made once"
    assert parted(3, *night, (HOST, 2, 0, DONE), (MACVLAN, 2, 0, DONE)) == ([], [], [])
    assert parted(3, *night, (HOST, 2, 0, DONE), (MACVLAN, 2, 1, DONE)) == (both, both, both)


def test_a_parted_pair_whose_side_failed_by_itself_meanwhile_is_left_alone() -> None:
    night = (HOST, 1, 0, DONE), (OVERLAY, 1, 0, DONE), (MACVLAN, 1, 1, DONE)
    assert parted(3, *night, (HOST, 2, 0, DONE), (MACVLAN, 2, 0, FAILED)) == ([], [], [])
    lost = parted(3, *night, (HOST, 2, 0, DONE), (MACVLAN, 2, 0, LOST))
    assert lost == ([HOST.id, MACVLAN.id], [HOST.id], [])


def test_sides_of_two_sessions_are_not_parted() -> None:
    """So are levels that version 0.1 added: more blocks measure those together, and nobody asked for them."""
    assert parted(3, (HOST, 1, 0, DONE), (OVERLAY, 1, 0, DONE), (MACVLAN, 2, 0, DONE)) == ([], [], [])


def test_what_is_left_joins_what_was_parted() -> None:
    night = (HOST, 1, 0, DONE), (OVERLAY, 1, 1, DONE), (MACVLAN, 1, 1, LOST)
    assert parted(2, *night) == (IDS, [HOST.id, OVERLAY.id], [HOST.id, OVERLAY.id])


def test_a_reference_that_failed_once_more_and_is_tried_again_is_left_and_not_made_once_more() -> None:
    known = (HOST, 1, 0, DONE), (OVERLAY, 1, 0, DONE), (MACVLAN, 2, 0, DONE), (HOST, 2, 0, LOST)
    both = [HOST.id, MACVLAN.id]
    assert parted(3, *known) == (both, [MACVLAN.id], [])


def test_what_is_still_in_flight_counts_as_of_its_own_session() -> None:
    assert left(2, (HOST, 1, DONE), (OVERLAY, 1, DONE), flying=[MACVLAN]) == ([], [])
    assert left(2, (OVERLAY, 1, DONE), flying=[HOST]) == ([HOST.id, MACVLAN.id], [HOST.id])


def test_each_scale_is_held_against_the_smallest_of_its_line() -> None:
    grown = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in (1, 2, 4)]
    pairs = set(compared(make_plan(grown)))
    host, overlay = grown[:3], grown[3:]
    assert pairs == {
        *((one.id, other.id) for one, other in zip(host, overlay, strict=True)),
        *((line[0].id, other.id) for line in (host, overlay) for other in line[1:]),
    }
