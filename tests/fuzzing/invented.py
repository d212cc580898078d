"""Whether what a parser measured stands in the text: digit by digit, in a unit that the text may have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.core.workload import Parsed
from tare.plugins.workloads.common.text import colourless

_NUMBER = re.compile(r"[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?")
_GROUPED = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_SCALES = tuple(
    unit * 10.0**power
    for unit in (1.0, 8.0, 1024.0, 1024.0**2, 1024.0**3, 8 * 1024.0, 8 * 1024.0**2, 8 * 1024.0**3)
    for power in (-9, -6, -3, 0, 3, 6, 9, 12)
)
"""By which a unit in the text may differ from the measurement's: us, ms, s; MiB, GB; bits and bytes."""

DERIVED = {
    "fio": {"iops"},  # operations / time, in text
    "iperf2": {"loss"},  # lost / all
    "iperf3": {"throughput", "throughput_sent", "loss"},  # summed over streams; lost / all
    "lammps": {"wall_time"},  # 1:02:03
    "namd": {"ns_per_day"},  # of days/ns
    "elbencho": {f"{rate}{which}" for rate in ("bandwidth", "entries") for which in ("", "_first")},
    "openfoam": {"step_time", "solver_time", "execution_time"},
    "osu": {"latency_small_mean"},
    "tare": {"latency_small_mean", "time_small_mean"},
    "wrf": {"integration_time", "output_time", "step_time", "steps_per_s", "input_time"},
}
"""Figures that are worked out of several numbers, by family: their tests hold them against the formula."""


def invented(family: str, parsed: Parsed, text: str) -> str:
    """Return the first figure that the text does not hold, with its value; empty where there is none."""
    derived = DERIVED.get(family, set())
    asked = {one.value: one.fom for one in parsed.measurements if one.fom not in derived}
    if not asked:
        return ""
    plain = colourless(text)
    printed = set(_numbers(plain))
    left = {value: fom for value, fom in asked.items() if abs(value) not in printed}
    if not left:
        return ""
    rounded = {f"{one:.8e}" for one in printed}
    for value, fom in left.items():
        scaled = (f"{abs(one):.8e}" for scale in _SCALES for one in (value * scale, value / scale))
        if rounded.isdisjoint(scaled):
            return f"{fom} {value!r}"
    return ""


def _numbers(text: str) -> Iterator[float]:
    for word in _NUMBER.findall(text):
        yield float(word)
    for word in _GROUPED.findall(text):
        yield float(word.replace(",", ""))
