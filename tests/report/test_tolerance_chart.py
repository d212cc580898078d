"""The chart and the table of predicted slowdowns beside measured ones."""

from __future__ import annotations

from bench.tolerance import Tried, chart, table
from tare.core.interval import Bounded


def _tried(workload: str, axis: str, x: float, measured: float) -> Tried:
    predicted = Bounded(1 + x / 1000, 1 + x / 1200, 1 + x / 800)
    return Tried(
        workload, axis, x, f"{x:g}", predicted, Bounded(measured, measured - 0.01, measured + 0.01), 4
    )


FOUND = [
    _tried(workload, axis, x, 1 + x / 1000)
    for axis in ("added latency, µs", "rate, Mbit/s")
    for workload in ("cg", "gromacs.water", "lammps.lj")
    for x in (50.0, 100.0, 200.0, 400.0)
]


def test_one_chart_has_predicted_and_measured_of_all_programs_on_both_axes() -> None:
    svg = chart(FOUND)
    for word in ("cg", "gromacs.water", "lammps.lj", "added latency, µs", "rate, Mbit/s"):
        assert word in svg
    for word in ("predicted", "measured"):
        assert svg.count(f">{word}<") == 6


def test_the_table_counts_what_is_inside() -> None:
    odd = _tried("cg", "rate, Mbit/s", 800.0, 3.0)
    rows = list(table([*FOUND, odd]))
    assert rows[0].goal == "inside"
    assert rows[len(FOUND)].goal == "OUTSIDE"
    assert rows[-2].measured == "24 of 25"
