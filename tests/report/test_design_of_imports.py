"""How imported runs were made is told as far as their files tell it."""

from __future__ import annotations

import msgspec

from report.designs import change, text_of
from support.synthetic import make_campaign
from tare.core.attempt import Source
from tare.core.campaign import Campaign


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
