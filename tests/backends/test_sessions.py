"""A job label is read whole, and nothing else is a job label."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.plugins.backends.ownership.sessions import Fate, Session, SessionLabel, judge, new_session, parse

_WORD = st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True)
SESSIONS = st.builds(
    Session,
    campaign=_WORD,
    pid=st.integers(1, 4194304),
    start=st.integers(0, 10**19),
    host=_WORD,
    machine=st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
    boot=st.from_regex(r"[0-9a-f]{32}|-", fullmatch=True),
    uid=st.integers(0, 2**32 - 1),
    namespaces=st.from_regex(r"[0-9]{1,10}-[0-9]{1,10}|-", fullmatch=True),
)
JOBS = st.sampled_from(["", "3f1c9a0b7d52/1.1;", "sampler;", "containers;"])


@given(session=SESSIONS, job=JOBS)
def test_a_label_is_read_as_it_was_written(session: Session, job: str) -> None:
    assert parse(f"{session}{job}") == SessionLabel(session, job)


@given(session=SESSIONS, job=JOBS, at=st.integers(0, 400), character=st.characters())
def test_a_label_with_another_character_is_another_label_or_none(
    session: Session, job: str, at: int, character: str
) -> None:
    text = f"{session}{job}"
    changed = text[: at % len(text)] + character + text[at % len(text) + 1 :]
    found = parse(changed)
    assert changed == text or found is None or found != SessionLabel(session, job)


@given(text=st.text() | st.from_regex(r"[a-z]*(:[a-z0-9-]*)*"), takes_old=st.booleans())
def test_what_is_no_label_is_of_nobody(text: str, takes_old: bool) -> None:
    verdict = judge(text, os.getuid() + 1, takes_old=takes_old)
    assert verdict.fate is Fate.UNKNOWN
    assert verdict.why


def test_the_label_of_this_process_is_read_and_alive() -> None:
    session = new_session("c")
    assert parse(f"{session}x;") == SessionLabel(session, "x;")
    assert judge(f"{session}x;", os.getuid()).fate is Fate.ALIVE


@pytest.mark.parametrize("unsafe", [" ", "'", '"', "$", "*", "\\", "\n", "|", "&", "(", "`"])
def test_a_label_needs_no_quotes(unsafe: str) -> None:
    assert unsafe not in str(new_session("c"))
