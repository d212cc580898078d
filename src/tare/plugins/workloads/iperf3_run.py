"""One test of iperf3, from JSON or text: its figures, its settings, and its problems."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from tare.core.values import Scalar

FORWARD, REVERSE = "client to server", "server to client"


class Figure(NamedTuple):
    """A value, and its direction if the test had two."""

    fom: str
    value: float
    direction: str | None = None


@dataclasses.dataclass
class Iperf3Run:
    """One test: its figures, its settings, and the reasons why it is not complete."""

    figures: list[Figure] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    payload_bytes: int = 0
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    """Its settings, by the name of the workload's parameter."""


def add_figure(
    run: Iperf3Run, fom: str, value: float | None, direction: str | None = None, *, unit: float = 1
) -> None:
    """Add `value` / `unit` to a test as a figure, unless `value` is None."""
    if value is not None:
        run.figures.append(Figure(fom, value / unit, direction))
