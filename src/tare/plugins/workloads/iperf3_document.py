"""Read one test from iperf3's JSON (iperf_api.c: iperf_print_results and JSON_write)."""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.values import Scalar
from tare.plugins.workloads.iperf3_run import FORWARD, REVERSE, Iperf3Run, add_figure


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
        add_figure(run, "throughput", received.number("bits_per_second"), direction, unit=1e9)
        rate = (sent if sent.names else both).number("bits_per_second")
        if rate or received.number("bits_per_second") is None:  # otherwise a receiver reports sending nothing
            add_figure(run, "throughput_sent", rate, direction, unit=1e9)
        add_figure(run, "retransmits", sent.number("retransmits"), direction)
        counts = received if received.number("lost_percent") is not None else both
        add_figure(run, "jitter", counts.number("jitter_ms"), direction)
        add_figure(run, "lost", counts.number("lost_packets"), direction)
        add_figure(run, "loss", counts.number("lost_percent"), direction)
        arrived = 1 - (counts.number("lost_percent") or 0) / 100
        moved = received.number("bytes") or (sent if sent.names else both).number("bytes") or 0
        run.payload_bytes += max(int(moved * min(arrived, 1)), 0)
    cpu = end.child("cpu_utilization_percent")
    add_figure(run, "cpu_local", cpu.number("host_total") or None)
    add_figure(run, "cpu_remote", cpu.number("remote_total") or None)
    if not any(figure.fom.startswith("throughput") for figure in run.figures) and not run.problems:
        run.problems.append("iperf3's JSON has no sum of the whole test")
    return run


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
