"""Whoever follows a journal knows at every moment what one knows who reads it from its beginning."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.synthetic import make_case, make_plan
from tare.analysis.accounting import account
from tare.core.attempt import Attempt, State
from tare.live.campaign_state import CampaignState
from tare.storage.campaign import freeze, read_campaign
from tare.storage.journal import (
    AttemptBegan,
    AttemptEnded,
    AttemptWaits,
    BlockBegan,
    Event,
    Journal,
    SessionBegan,
)
from tare.storage.journal_state import JournalState

CASES = (make_case("host"), make_case("overlay"))
PLAN = make_plan(CASES, blocks=2)
_KEYS = st.tuples(st.sampled_from([one.id for one in CASES]), st.integers(0, 2), st.integers(1, 3))
_STATES = st.sampled_from([State.DONE, State.FAILED, State.INVALID, State.LOST])
EVENTS = st.lists(
    st.one_of(
        st.builds(SessionBegan, at=st.floats(1.0, 1e5), tare=st.just("0"), continues=st.booleans()),
        st.builds(BlockBegan, st.integers(0, 2), st.permutations([one.id for one in CASES])),
        _KEYS.map(lambda key: AttemptBegan(*key, 1e9)),
        _KEYS.map(lambda key: AttemptWaits(*key, 1e9, "its turn")),
        st.builds(
            lambda key, state: AttemptEnded(
                Attempt(case=key[0], block=key[1], attempt=key[2], state=state, started_at=1e9)
            ),
            _KEYS,
            _STATES,
        ),
    ),
    max_size=20,
)


@given(events=EVENTS)
def test_who_follows_a_journal_knows_what_its_reader_knows(events: list[Event]) -> None:
    state, book = JournalState(events), CampaignState(Path("c"), PLAN, 0)
    for revision, event in enumerate(events, 1):
        book.apply(event, revision)
    for is_running in (False, True):
        book.run_by(len(events) + 1, is_running=is_running)
        followed = book.campaign()
        assert [one.state for one in followed.attempts] == [
            one.state for one in state.current_attempts(is_running=is_running)
        ]
        assert {run: one.attempt for run, one in followed.latest().items()} == {
            run: one.attempt for run, one in book.latest.items()
        }
        counts = book.progress().counts
        assert counts == account(followed).counts


def test_a_late_end_of_an_earlier_try_is_not_the_last_of_its_run(tmp_path: Path) -> None:
    """The page took the try that ended last for the run's, and the report the one that began last."""
    case = CASES[0].id
    first = Attempt(case=case, block=1, attempt=1, state=State.FAILED, started_at=1.0, session=1)
    second = Attempt(case=case, block=1, attempt=2, state=State.DONE, started_at=2.0, session=1)
    events: list[Event] = [
        SessionBegan(0.5, "0"),
        BlockBegan(1, [one.id for one in CASES]),
        AttemptBegan(case, 1, 1, 1.0),
        AttemptBegan(case, 1, 2, 2.0),
        AttemptEnded(second),
        AttemptEnded(first),
    ]
    freeze(tmp_path, PLAN, {})
    with Journal(tmp_path / "journal.jsonl") as journal:
        for event in events:
            journal.append(event)
    read = read_campaign(tmp_path)
    book = CampaignState(tmp_path, PLAN, 0)
    for revision, event in enumerate(events, 1):
        book.apply(event, revision)
    assert read.latest() == book.campaign().latest() == dict(book.latest)
    assert book.state(next(iter(book.latest))) is State.DONE
