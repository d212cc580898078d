"""A little of `make fuzz` with every test run: no traceback and no hang on input that nobody meant."""

from __future__ import annotations

import contextlib
import math
from itertools import islice

import pytest

from fuzzing import trying
from fuzzing.changes import MOST_BYTES
from fuzzing.invented import invented
from fuzzing.target import Target
from fuzzing.targets import targets
from fuzzing.trying import fault_of, inputs
from tare.core.workload import Measurement, Parsed

ALL = targets()
N_INPUTS = 60


@pytest.mark.parametrize("name", ALL)
def test_it_reads_or_refuses_whatever_it_is_given(name: str) -> None:
    target = ALL[name]
    faults = {fault_of(target, data) for data in islice(inputs(target, seed=1), len(target.seeds) + N_INPUTS)}
    assert faults - {""} == set()


def test_faults_are_found_and_named() -> None:
    def broken(data: bytes) -> None:
        if b"x" in data:
            raise KeyError("x")
        if b"y" in data:
            raise ValueError("refused")

    target = Target("broken", broken, (b"y",), (ValueError,))
    assert fault_of(target, b"x").startswith("KeyError")
    assert [fault_of(target, one) for one in (b"y", b"")] == ["", ""]
    assert any(fault_of(target, data) for data in islice(inputs(Target("b", broken, (b"yx",)), 1), 1))


def test_an_answer_that_does_not_come_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(data: bytes) -> None:
        while data:
            with contextlib.suppress(Exception):
                math.sqrt(2)

    monkeypatch.setattr(trying, "MOST_S", 0.2)
    assert fault_of(Target("endless", endless, (b"x",)), b"x").startswith("TookTooLong")
    assert fault_of(Target("endless", endless, (b"x",)), b"") == ""


@pytest.mark.parametrize(
    ("text", "value", "fault"),
    [
        ("8 1.5 us", 1.5, ""),
        ("8 1.5 ms", 1500.0, ""),
        ("bw = 2 GB/s", 16.0, ""),
        ("rate 1,234.5", 1234.5, ""),
        ("8 15 us", 1.5, "latency 1.5"),
        ("8 4,07 us", 407.0, "latency 407.0"),
        ("8 ٣ us", 3.0, "latency 3.0"),
        ("", 0.0, "latency 0.0"),
    ],
)
def test_a_figure_stands_in_its_text_or_is_made_up(text: str, value: float, fault: str) -> None:
    parsed = Parsed(measurements=(Measurement(fom="latency", value=value, unit="us"),))
    assert invented("osu", parsed, text) == fault


def test_changes_are_the_same_for_the_same_seed_and_do_not_grow_without_end() -> None:
    target = ALL["study"]
    first, second = (list(islice(inputs(target, seed=3), 200)) for _ in range(2))
    assert first == second
    assert len({*first}) > 150
    assert max(map(len, first)) <= MOST_BYTES
