"""How the runs were made is told as it happened."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from report.studies import part_of
from support.synthetic import make_campaign
from tare.analysis.compare import aggregates
from tare.analysis.interim_looks import looks_at
from tare.core.attempt import Attempt, Source, State
from tare.core.campaign import Campaign, Session
from tare.core.study import Budget, Repeats
from tare.report.content import content
from tare.report.history import history
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.design import design
from tare.report.sections.methods import Methods
from truth.campaigns import Truth, campaign

ONE = Truth(blocks=6)
LATER = Truth(factors={"network": ("a", "b", "c")}, blocks=6, late=("network", "c"))


def change(found: Campaign, edit: Callable[[int, Attempt], Attempt | None]) -> Campaign:
    """Return a campaign with each attempt changed, or without it."""
    edited = (edit(index, one) for index, one in enumerate(found.attempts))
    return msgspec.structs.replace(found, attempts=tuple(one for one in edited if one is not None))


def text_of(found: Campaign) -> str:
    return " ".join(design(found)).replace("\u202f", " ")


def test_a_plain_campaign_is_reported_plainly() -> None:
    text = text_of(campaign(ONE))
    assert "All runs of Tare were made in one session, 2001-09-09 01:46 to 01:58 UTC." in text
    assert "Each of 6 passes over cases of a block began its runs in the order that was drawn" in text
    assert "6 blocks. Each has a measured run of every case that it was begun with, made together." in text
    assert "No measured run was made twice." in text
    for other in ("Up to", "sessions", "warm-up", "does not count", "look", "resumed", "clock", "later"):
        assert other not in text


def test_a_level_added_later_is_reported_with_its_session_and_what_was_made_again() -> None:
    text = text_of(campaign(LATER))
    assert "The runs were made in 2 sessions: session 1, 2001-09-09 01:46 to 01:58 UTC" in text
    assert "Between them lay 23 h 48 min." in text
    assert "1 case first ran in a later session (2): c." in text
    assert "6 runs that had come out well were made once more in a later session" in text
    assert "6 blocks, of which 0 have measured runs of all their cases, made together." in text
    assert "one session," not in text
    assert "No measured run was made twice" not in text


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


def test_a_clock_that_was_set_between_sessions_is_reported() -> None:
    found = change(
        campaign(LATER),
        lambda index, one: msgspec.structs.replace(
            one, started_at=(one.started_at or 0) - (200_000 if one.session == 2 else 0)
        ),
    )
    text = text_of(found)
    assert "that was set between them, and how long lay between is not known" in text
    assert "at a time" not in text
    assert "before the one before it had begun" not in text


def recorded(found: Campaign, facts: Callable[[int, str], dict[str, str]]) -> Campaign:
    """Return a campaign whose hosts n1 and n2 are recorded in each session as `facts` say."""
    attempts = change(
        found,
        lambda _, one: msgspec.structs.replace(one, hosts=["n1", "n2"], environment=f"e{one.session}"),
    )
    environments = {
        f"e{session}": {host: facts(session, host) for host in ("n1", "n2")} for session in (1, 2)
    }
    return msgspec.structs.replace(attempts, environments=environments)


def test_hosts_that_were_used_first_in_a_later_session_are_reported() -> None:
    def on(hosts: dict[int, list[str]]) -> str:
        return text_of(
            change(campaign(LATER), lambda _, one: msgspec.structs.replace(one, hosts=hosts[one.session]))
        )

    told = "Session 2 used a host that session 1 did not: n2."
    assert told in on({1: ["n1"], 2: ["n2"]})
    assert told in on({1: ["n1"], 2: ["n1", "n2"]})
    assert "used" not in on({1: ["n1", "n2"], 2: ["n1"]}), "fewer hosts are no others"
    assert "used" not in on({1: [], 2: ["n1"]}), "of session 1 nothing tells"
    assert "host" not in text_of(campaign(LATER))


def test_what_changed_of_a_host_between_sessions_is_reported_with_its_values() -> None:
    kernels = recorded(
        campaign(LATER), lambda session, host: {"kernel.release": f"6.{session}", "cpu.cores": "64"}
    )
    assert (
        "Between sessions 1 and 2 changed what was recorded of 2 hosts: "
        "kernel.release (from 6.1 to 6.2)." in text_of(kernels)
    )
    one_of_two = recorded(
        campaign(LATER), lambda session, host: {"cpu.governor": "x" if host == "n1" else str(session)}
    )
    assert "changed what was recorded of 1 host: cpu.governor (from 1 to 2)." in text_of(one_of_two)
    unlike = recorded(campaign(LATER), lambda session, host: {"serial": f"{host} {session}"})
    assert "changed what was recorded of 2 hosts: serial." in text_of(unlike)


def test_hosts_that_did_not_change_are_not_stated_to_have_changed() -> None:
    """A newer version records more; or a case ran on another host, which is no change of either."""
    newer = recorded(campaign(LATER), lambda session, host: {str(number): "x" for number in range(session)})
    assert "what was recorded" not in text_of(newer)
    moved = change(
        recorded(campaign(LATER), lambda session, host: {"serial": host}),
        lambda _, one: msgspec.structs.replace(one, environment=f"n{one.session}"),
    )
    environments = {f"n{session}": {f"n{session}": {"serial": f"n{session}"}} for session in (1, 2)}
    assert "what was recorded" not in text_of(msgspec.structs.replace(moved, environments=environments))


def test_versions_of_tare_are_reported_where_they_differ() -> None:
    def by(*versions: str) -> str:
        sessions = tuple(
            Session(number=number, began_at=1e9, tare=tare) for number, tare in enumerate(versions, 1)
        )
        return text_of(msgspec.structs.replace(campaign(LATER), sessions=sessions))

    told = "Their versions of Tare differ: session 1 by 0.1.0 and session 2 by 0.2.0."
    assert told in by("0.1.0", "0.2.0")
    assert "version" not in by("0.2.0", "0.2.0")
    assert "version" not in by("", "0.2.0")


def test_an_unpaired_comparison_that_was_asked_for_is_reported_beside_what_is_paired() -> None:
    paired = "Only runs of one block and one session are paired"
    assert f"{paired}." in text_of(campaign(LATER))
    asked = text_of(msgspec.structs.replace(campaign(LATER), is_unpaired=True))
    assert f"{paired}; what did not run together is compared unpaired, as was asked for." in asked


def test_jobs_that_ran_on_in_the_next_session_are_no_clock_that_was_set() -> None:
    """A job of session 1 was in flight for a day, and taken over by session 2."""
    found = campaign(LATER)
    last = max(index for index, one in enumerate(found.attempts) if one.session == 1)
    text = text_of(
        change(
            found,
            lambda index, one: msgspec.structs.replace(one, elapsed_s=90_000.0) if index == last else one,
        )
    )
    assert "runs of one were still under way when the next began" in text
    assert "is not known" not in text


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


def test_each_time_that_blocks_were_added_is_a_look() -> None:
    found = change(
        campaign(ONE), lambda index, one: msgspec.structs.replace(one, session=1 + (one.block > 3))
    )

    def planned(first: int, second: int, is_resumed: int = 0) -> Campaign:
        sessions = (
            Session(number=1, began_at=1e9, tare="", blocks=first, n_resumed=is_resumed),
            Session(number=2, began_at=1e9, tare="", blocks=second),
        )
        return msgspec.structs.replace(found, sessions=sessions)

    def looks(found: Campaign) -> int:
        (look,) = {one.look for one in aggregates(found)}
        assert set(looks_at(found).values()) == {look}, "methods and verdicts tell the same"
        return look

    assert looks(planned(3, 6)) == 2
    assert "Blocks were added once after results could be seen, so this is look 2 at them." in text_of(
        planned(3, 6)
    )
    assert looks(planned(6, 6)) == 1, "the blocks were planned from the start"
    assert looks(planned(0, 0)) == 2, "nothing tells what was planned"
    assert looks(campaign(ONE)) == 1
    assert looks(campaign(LATER)) == 1
    assert looks(planned(6, 4)) == 2, "somebody who looked decided for fewer"


def test_looks_of_some_contenders_alone_are_reported_as_theirs() -> None:
    """Level c is new in the session that adds blocks: of c it is the first look, of b the second."""
    found = campaign(Truth(factors={"network": ("a", "b", "c")}, blocks=8))
    late = found.plan.cases[2].id
    later = change(
        found,
        lambda _, one: (
            None
            if one.case == late and one.block < 5
            else msgspec.structs.replace(one, session=1 + (one.block > 4))
        ),
    )
    assert [one.look for one in aggregates(later)] == [2, 1]
    assert (
        "Blocks were added once after results could be seen, so this is look 2 at 1 of 2 contenders."
        in text_of(later)
    )


def test_blocks_of_an_interruption_that_had_no_interval_are_no_look() -> None:
    """Two blocks tell no interval, so nobody could have stopped at them."""
    found = change(campaign(ONE), lambda _, one: msgspec.structs.replace(one, session=1 + (one.block > 2)))
    assert [one.look for one in aggregates(found)] == [1]
    assert "look" not in text_of(found)


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


def with_repeats(found: Campaign, repeats: Repeats) -> Campaign:
    return msgspec.structs.replace(found, plan=msgspec.structs.replace(found.plan, repeats=repeats))


def test_a_rule_that_stops_is_reported_with_what_came_of_it_and_a_fixed_number_is_not_called_one() -> None:
    found = campaign(ONE)
    asked = text_of(with_repeats(found, Repeats(min=3, max=9, until=0.5)))
    assert "The study asks for 3 to 9 blocks, until each interval is within ± 50 %" in asked
    assert "By now it is." in asked
    never = text_of(with_repeats(found, Repeats(min=3, max=9, until=0.0001)))
    assert "By now it is not." in never
    assert "it is." not in never
    assert "asks for" not in text_of(found)


def test_a_rule_of_which_nothing_could_be_judged_is_not_kept() -> None:
    failed = change(campaign(ONE), lambda _, one: msgspec.structs.replace(one, state=State.FAILED, series=[]))
    text = text_of(with_repeats(failed, Repeats(min=3, max=9, until=0.02)))
    assert "it is." not in text
    assert "all" not in text.partition("at verdicts.")[2].partition("What the nodes")[0]


def test_a_budget_that_is_not_spent_stopped_nothing() -> None:
    found = campaign(ONE)
    spare = text_of(with_repeats(found, Repeats(min=6, max=6, budget=Budget(runs=500))))
    assert "A budget of 500 runs limits it." in spare
    spent = text_of(with_repeats(found, Repeats(min=3, max=9, until=0.0001, budget=Budget(runs=12))))
    assert "until each interval" in spent
    assert "A budget of 12 runs limits it: no further run fits into that." in spent


def test_imported_runs_are_not_reported_as_our_own() -> None:
    source = Source(path="log", sha256="0", gives_block=False)
    found = change(make_campaign(), lambda index, one: msgspec.structs.replace(one, source=source))
    text = text_of(found)
    assert "These runs were made elsewhere and imported" in text
    assert "Their files name no blocks" in text
    assert "session" not in text
    assert "drawn" not in text
    told = msgspec.structs.replace(source, gives_block=True)
    paired = change(found, lambda index, one: msgspec.structs.replace(one, source=told))
    assert "They are paired by the block that their files name." in text_of(paired)
    timed = msgspec.structs.replace(told, gives_time=True)
    text = text_of(change(found, lambda index, one: msgspec.structs.replace(one, source=timed)))
    assert "their order is that of the times in their files" in text
    assert "the order in which they were made is not known" not in text
    mixed = change(
        make_campaign(),
        lambda index, one: msgspec.structs.replace(one, source=source if index < 4 else None),
    )
    assert "4 of 10 measured runs were made elsewhere and imported" in text_of(mixed)


def imported(found: Campaign, **source: bool) -> Campaign:
    told = Source(path="log", sha256="0", gives_block=True, gives_time=True)
    told = msgspec.structs.replace(told, **source)
    return change(found, lambda _, one: msgspec.structs.replace(one, source=told))


def test_imported_runs_that_are_compared_with_nothing_are_not_stated_to_be_paired() -> None:
    found = make_campaign()
    alone = found.plan.cases[0].id
    for tells in (True, False):
        one = change(imported(found, gives_block=tells), lambda _, one: one if one.case == alone else None)
        assert "paired" not in text_of(one)
        assert "held against" not in text_of(one)


def test_imported_blocks_that_no_variant_shares_pair_nothing() -> None:
    """One platform tells blocks 1 to 5, the other 6 to 10."""
    found = imported(make_campaign(), gives_time=False)
    alone = found.plan.cases[0].id
    apart = change(
        found,
        lambda _, one: one if one.case == alone else msgspec.structs.replace(one, block=one.block + 5),
    )
    text = text_of(apart)
    assert "They are paired" not in text
    assert "too few of them hold runs of both sides" in text


def test_an_imported_block_with_a_night_in_it_is_reported() -> None:
    found = imported(make_campaign(blocks=6))
    parts = change(found, lambda index, one: msgspec.structs.replace(one, part=int(index == 3)))
    assert "but not where they have a long time between them by the times in their files" in text_of(parts)
    sessions = change(found, lambda _, one: msgspec.structs.replace(one, session=-int(one.block > 3)))
    assert "but not where they go back to an earlier block" in text_of(sessions)


def test_the_page_states_of_no_pairs_that_they_cancel_anything(tmp_path: Path) -> None:
    alone = campaign(dataclasses.replace(LATER, late_reference=False))
    only = change(alone, lambda index, one: None if one.case == alone.plan.cases[1].id else one)
    methods = part_of(content(only, ReportStatistics.of(only)), Methods)
    assert not methods.has_pairs
    assert not methods.has_unpaired
    asked = msgspec.structs.replace(only, is_unpaired=True)
    assert part_of(content(asked, ReportStatistics.of(asked)), Methods).has_unpaired
    assert history(only).n_again == 0
