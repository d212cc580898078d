"""Runs that are alike take the memory of one, and read as they were written."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tare.core.attempt import Attempt, Series, State
from tare.core.values import Scalar
from tare.storage.journal import AttemptEnded, Journal, read_events


def attempt(block: int, column: list[Scalar]) -> Attempt:
    return Attempt(
        case="c",
        block=block,
        attempt=1,
        state=State.DONE,
        started_at=None,
        hosts=["n1", "n2"],
        transport="eth0 carried 12 MB of it",
        series=[Series(fom="latency", unit="us", at={"bytes": column}, values=[1.5, 2.5])],
    )


def read(path: Path, *attempts: Attempt) -> list[Attempt]:
    with Journal(path) as journal:
        for one in attempts:
            journal.append(AttemptEnded(one), is_synced=False)
    return [event.attempt for event in read_events(path) if isinstance(event, AttemptEnded)]


def test_equal_values_are_kept_once(tmp_path: Path) -> None:
    written = [attempt(1, [1, 2]), attempt(2, [1, 2])]
    one, other = read(tmp_path / "journal.jsonl", *written)
    assert [one, other] == written
    assert one.series[0].at["bytes"] is other.series[0].at["bytes"]
    assert one.hosts is other.hosts
    assert one.transport is other.transport


def test_coordinates_that_are_equal_and_of_another_kind_stay_what_they_are(tmp_path: Path) -> None:
    columns: list[list[Scalar]] = [[1, 2], [1.0, 2.0], [True, 2], ["1", "2"]]
    found = read(tmp_path / "journal.jsonl", *(attempt(n, column) for n, column in enumerate(columns, 1)))
    shown = [[type(value) for value in one.series[0].at["bytes"]] for one in found]
    assert shown == [[type(value) for value in column] for column in columns]


def test_what_all_runs_lack_is_kept_once_too(tmp_path: Path) -> None:
    written = [attempt(1, [1, 2]), attempt(2, [1, 2])]
    one, other = read(tmp_path / "journal.jsonl", *written)
    assert one.series[0].at is other.series[0].at
    assert one.telemetry is other.telemetry
    assert (one.telemetry, one.printed, one.traffic, one.imported) == ({}, {}, {}, {})


def test_coordinates_of_another_name_or_order_stay_what_they_are(tmp_path: Path) -> None:
    def of(at: dict[str, list[Scalar]], block: int) -> Attempt:
        return msgspec.structs.replace(
            attempt(block, [1, 2]), series=[Series(fom="f", unit="", at=at, values=[1.0])]
        )

    coordinates: list[dict[str, list[Scalar]]] = [
        {"a": [1], "b": [2]},
        {"b": [2], "a": [1]},
        {"a": [2], "b": [1]},
        {},
    ]
    found = read(tmp_path / "journal.jsonl", *(of(at, n) for n, at in enumerate(coordinates, 1)))
    assert [list(one.series[0].at.items()) for one in found] == [list(at.items()) for at in coordinates]
