"""One test of iperf3: its figures and settings, and how they are read from JSON.

iperf_api.c (iperf_print_results and JSON_write) defines the JSON.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
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
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)
    """Why figures that are printed are not measured, by figure of merit."""
    payload_bytes: int = 0
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    """Its settings, by the name of the workload's parameter."""


def run_of(document: Mapping[str, object]) -> Iperf3Run:
    """Return the test in a whole document."""
    run = Iperf3Run(facts=_facts(JsonObject(document.get("start")).child("test_start")))
    if "error" in document:
        run.problems.append(f"iperf3 failed: {document['error']}")
    end = JsonObject(document.get("end"))
    for suffix, direction in (("", None), ("_bidir_reverse", REVERSE)):
        if direction is None and "sum_sent_bidir_reverse" in end.names:
            direction = FORWARD
        sent, received = end.child(f"sum_sent{suffix}"), end.child(f"sum_received{suffix}")
        both = end.child(f"sum{suffix}")  # UDP; the only sum before 3.10
        _add(run, "throughput", received.number("bits_per_second"), direction, unit=1e9)
        rate = (sent if sent.names else both).number("bits_per_second")
        if rate or received.number("bits_per_second") is None:
            _add(run, "throughput_sent", rate, direction, unit=1e9)
        elif rate == 0:
            run.left_out["throughput_sent"] = "it is printed as 0, as a receiver reports what it did not send"
        _add(run, "retransmits", sent.number("retransmits"), direction)
        counts = received if received.number("lost_percent") is not None else both
        _add(run, "jitter", counts.number("jitter_ms"), direction)
        _add(run, "lost", counts.number("lost_packets"), direction)
        _add(run, "loss", counts.number("lost_percent"), direction)
        arrived = 1 - (counts.number("lost_percent") or 0) / 100
        moved = received.number("bytes") or (sent if sent.names else both).number("bytes") or 0
        run.payload_bytes += max(int(moved * min(arrived, 1)), 0)
    cpu = end.child("cpu_utilization_percent")
    for fom, name in (("cpu_local", "host_total"), ("cpu_remote", "remote_total")):
        value = cpu.number(name)
        _add(run, fom, value or None)
        if value == 0:
            run.left_out[fom] = "iperf3 prints it as 0, as a host that does not know it does"
    if not any(figure.fom.startswith("throughput") for figure in run.figures) and not run.problems:
        run.problems.append("iperf3's JSON has no sum of the whole test")
    return run


def _add(
    run: Iperf3Run, fom: str, value: float | None, direction: str | None = None, *, unit: float = 1
) -> None:
    """Add `value` / `unit` to a test as a figure, unless `value` is None."""
    if value is not None:
        run.figures.append(Figure(fom, value / unit, direction))


_FACTS = {"num_streams": "streams", "blksize": "message_bytes", "duration": "time_s", "omit": "omit_s"}

_FLAGS = {"reverse": "reverse", "bidir": "bidirectional"}


def _facts(test: JsonObject) -> dict[str, Scalar]:
    """Return the settings of a test, by the name of the workload's parameter."""
    facts: dict[str, Scalar] = {}
    for key, name in _FACTS.items():
        if (value := test.number(key)) is not None and value > 0:
            facts[name] = int(value) if value.is_integer() else value
    facts |= {name: bool(value) for key, name in _FLAGS.items() if (value := test.number(key)) is not None}
    if (protocol := test.text("protocol")) in {"TCP", "UDP", "SCTP"}:
        facts["protocol"] = protocol.lower()
    return facts


class JsonObject:
    """A JSON object whose members may be missing or have another type."""

    def __init__(self, value: object) -> None:
        self._members: Mapping[str, object] = value if isinstance(value, dict) else {}

    @property
    def names(self) -> frozenset[str]:
        """Return the names of its members."""
        return frozenset(self._members)

    def child(self, name: str) -> JsonObject:
        """Return the member `name` if it is an object, otherwise an empty object."""
        return JsonObject(self._members.get(name))

    def text(self, name: str) -> str:
        """Return the member `name` if it is a string, otherwise an empty string."""
        value = self._members.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        """Return the member `name` if it is a number, otherwise None."""
        value = self._members.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
