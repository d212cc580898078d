"""What a site does not tell has a sign in its place, the same for the same word."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.pseudonyms import Pseudonyms, fault_of, merged

SIGNS = Pseudonyms(("acme", "n1", "/gpu[0-9]+/", "/home/alice"), key="k")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ssh n1 ls", "ssh ‹redacted-2› ls"),
        ("n10 bin1 n1-ib n1.x", "n10 bin1 ‹redacted-2›-ib ‹redacted-2›.x"),
        ("ACME Acme acme_2 acme7", "‹redacted-1› ‹redacted-1› ‹redacted-1›_2 ‹redacted-1›7"),
        ("acmes pacme", "acmes pacme"),
        ("/home/alice/x /home/alicea", "‹redacted-4›/x /home/alicea"),
        ("password=acme n1", "password=(hidden) ‹redacted-2›"),
        ("nothing here", "nothing here"),
    ],
)
def test_a_word_has_the_pseudonym_of_its_kind(text: str, expected: str) -> None:
    assert SIGNS.text(text) == expected


def test_what_a_pattern_matches_has_a_pseudonym_of_its_own_each() -> None:
    one, other, again = SIGNS.only("gpu1 gpu2 gpu1").split("› ")
    assert one == again.rstrip("›") != other
    assert SIGNS.only("gpu1") == f"{one}›"
    assert Pseudonyms(SIGNS.entries, key="another").only("gpu1") != f"{one}›"


def test_no_entry_matches_within_a_pseudonym() -> None:
    pseudonyms = Pseudonyms(("redacted", "/[0-9]+/", "/./", "secret"))
    assert "secret" not in pseudonyms.only("secret 12")
    shown = Pseudonyms(("secret", "/[0-9]/", "redacted")).only("secret 1 redacted")
    assert shown.startswith("‹redacted-1› ‹redacted-")
    assert shown.endswith("› ‹redacted-3›")


def test_commands_and_variables_have_pseudonyms_and_no_secrets() -> None:
    assert SIGNS.argv(["ssh", "n1", "--password", "x"]) == ["ssh", "‹redacted-2›", "--password", "(hidden)"]
    assert SIGNS.variables({"HOST": "n1", "API_TOKEN": "abc"}) == {
        "HOST": "‹redacted-2›",
        "API_TOKEN": "(hidden)",
    }


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ("x", "no word"),
        ("  ", "no word"),
        ("a\x1b[2J", "no word"),
        ("/(/", "unclosed group"),
        ("/(?=a)/", "look-around"),
        ("/a*/", "at least one character"),
        ("/(((((a{1000}){1000}){1000}){1000})/", "no pattern"),
        ("a" * 501, "longer than"),
    ],
)
def test_an_entry_that_cannot_be_used_is_reported_with_its_cure(entry: str, part: str) -> None:
    fault = fault_of(entry)
    assert fault is not None
    assert part in fault


@pytest.mark.parametrize("entry", ["acme", "/home/alice", "n1", "/(?i)acme-[a-z]+/", "/a|b/", "Jürgen"])
def test_words_paths_and_patterns_can_be_used(entry: str) -> None:
    assert fault_of(entry) is None


def test_what_came_first_keeps_its_number() -> None:
    assert merged(("a", "b"), ("b", "c"), ("a",)) == ("a", "b", "c")


def test_no_pattern_takes_long_on_any_text() -> None:
    """(a+)+$ outlives everybody with an engine that goes back."""
    began = time.process_time()
    Pseudonyms(("/(a+)+$/", "/(a|aa)+b/", "/(.*)(.*)(.*)x/")).only("a" * 60_000 + "!")
    assert time.process_time() - began < 20


@given(st.text(), st.lists(st.sampled_from(["acme", "n1", "/[a-c]+/", "/\\d/", "redacted"]), unique=True))
def test_of_no_text_a_word_is_left(text: str, entries: list[str]) -> None:
    shown = Pseudonyms(tuple(entries)).only(f"x acme {text} n1 y")
    plain = shown.replace("‹redacted-", "").replace("redacted", "")
    if "acme" in entries:
        assert " acme " not in f" {plain} "
    if not entries:
        assert shown == f"x acme {text} n1 y"
