"""A little of `make fuzz` with every test run: no traceback and no hang on input that nobody meant."""

from __future__ import annotations

from itertools import islice

import pytest

from fuzzing.target import Target
from fuzzing.targets import targets
from fuzzing.trying import fault_of, inputs

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
