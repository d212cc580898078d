"""Limits of rules in other units than those in which a figure is measured."""

from __future__ import annotations

import pytest

from tare.analysis.checking.limits import convert


@pytest.mark.parametrize(
    ("number", "unit", "to", "expected"),
    [
        (1.2, "kJ", "J", 1200),
        (500, "mJ", "J", 0.5),
        (1, "kWh", "MJ", 3.6),
        (0.4, "kW", "W", 400),
        (250, "mW", "W", 0.25),
        (2.5, "GHz", "MHz", 2500),
        (2, "J/s", "kJ/s", 0.002),
        (40, "kpackets/s", "packets/s", 40_000),
        (3, "h", "s", 10_800),
        (5, "GFLOP/s", "Mflop/s", 5000),
        (5, "gflops", "Mflop", 5000),
    ],
)
def test_a_limit_may_have_any_prefix_of_its_unit(number: float, unit: str, to: str, expected: float) -> None:
    assert convert(number, unit, to) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("unit", "to"), [("J", "W"), ("kJ", "s"), ("MW", "MHz"), ("GB/s", "us"), ("", "J"), ("kB", "J")]
)
def test_a_limit_of_another_dimension_is_refused(unit: str, to: str) -> None:
    with pytest.raises(ValueError, match=f"is not a unit of what is measured in {to}"):
        convert(1, unit, to)


@pytest.mark.parametrize(
    ("unit", "to"), [("kcells/s", "cells/s"), ("Gupdates", "updates"), ("Mfrobs", "frobs")]
)
def test_a_unit_that_is_not_known_is_not_called_another_one(unit: str, to: str) -> None:
    with pytest.raises(ValueError, match=rf"{unit} .* write the limit in {to}") as caught:
        convert(1, unit, to)
    assert "is not a unit" not in str(caught.value)
