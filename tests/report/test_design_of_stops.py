"""When it was decided how many blocks are made, and by which rule, is told."""

from __future__ import annotations

import msgspec

from report.designs import LATER, ONE, change, text_of
from tare.analysis.verdicts.compare import aggregates
from tare.analysis.verdicts.interim_looks import looks_at
from tare.core.attempt import State
from tare.core.campaign import Campaign, Session
from tare.core.study import Budget, Repeats
from truth.campaigns import Truth, campaign


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
    assert "Blocks were added once after results could be seen, so this is a second look at them." in text_of(
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
        "Blocks were added once after results could be seen, so this is a second look at 1 of 2 contenders."
        in text_of(later)
    )


def test_blocks_of_an_interruption_that_had_no_interval_are_no_look() -> None:
    """Two blocks tell no interval, so nobody could have stopped at them."""
    found = change(campaign(ONE), lambda _, one: msgspec.structs.replace(one, session=1 + (one.block > 2)))
    assert [one.look for one in aggregates(found)] == [1]
    assert "look" not in text_of(found)


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
    assert "A budget of 12 runs limits it: the next runs do not fit into that." in spent
