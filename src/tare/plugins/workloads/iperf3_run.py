"""One test of iperf3, whatever it was printed as: its figures, its facts, and what went wrong."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from tare.core.values import Scalar

FORWARD, REVERSE = "client to server", "server to client"


class Figure(NamedTuple):
    """A value, and of which of two directions it is."""

    fom: str
    value: float
    direction: str | None = None


@dataclasses.dataclass
class Iperf3Run:
    """One test: its figures, and what keeps it from being whole."""

    figures: list[Figure] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    payload_bytes: int = 0
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    """What it says of itself, by the name of the parameter."""


def add_figure(
    run: Iperf3Run, fom: str, value: float | None, direction: str | None = None, *, unit: float = 1
) -> None:
    """Add a figure to a test, in units of `unit`, unless there is none."""
    if value is not None:
        run.figures.append(Figure(fom, value / unit, direction))
