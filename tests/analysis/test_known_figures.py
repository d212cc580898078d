"""A figure that a campaign does not have is answered with those to choose from."""

from __future__ import annotations

import pytest

from tare.analysis.known_figures import figure_choices

KNOWN = ("latency", "bandwidth", "telemetry.cpu_user", "telemetry.cpu_idle")


@pytest.mark.parametrize(
    ("fom", "cure"),
    [
        ("latencies", "choose from bandwidth, latency, or one of 2 that begin with telemetry."),
        ("telemetry.cpu_usr", "did you mean telemetry.cpu_user?"),
        (
            "telemetry.zzzzzzzzzz",
            "choose from bandwidth, latency, telemetry.cpu_idle, telemetry.cpu_user",
        ),
    ],
)
def test_figures_of_workloads_come_before_those_of_telemetry(fom: str, cure: str) -> None:
    assert figure_choices(fom, KNOWN) == cure


def test_without_telemetry_no_word_of_it() -> None:
    assert figure_choices("latencies", KNOWN[:2]) == "choose from bandwidth, latency"
