"""Read the lines of elbencho's --jsonfile, each of which is a phase."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tare.core.errors import NOT_JSON
from tare.plugins.workloads.common.text import figure
from tare.plugins.workloads.elbencho_facts import json_facts
from tare.plugins.workloads.elbencho_results import MEBIBYTE, Phase

_Text = str | int | float | None


class _JsonLatency(msgspec.Struct):
    avg_us: _Text = None
    max_us: _Text = None


class _JsonLatencies(msgspec.Struct):
    io: _JsonLatency = msgspec.field(default_factory=_JsonLatency, name="IO")
    entries: _JsonLatency = msgspec.field(default_factory=_JsonLatency)


class _JsonDone(msgspec.Struct):
    elapsed_time_ms: _Text = None
    entries: _Text = msgspec.field(default=None, name="entries/s")
    iops: _Text = None
    bytes_per_s: _Text = msgspec.field(default=None, name="bytes/s")
    latency: _JsonLatencies = msgspec.field(default_factory=_JsonLatencies)
    rwmix_read: _JsonDone | None = None


class _JsonPhase(msgspec.Struct):
    phase_type: str
    first_done: _JsonDone
    last_done: _JsonDone
    config: dict[str, _Text] = {}


_json_phase = msgspec.json.Decoder(_JsonPhase)


def json_phase(line: str) -> Phase | None:
    """Return the phase in a line of a --jsonfile, or None if the line cannot be decoded."""
    try:
        phase = _json_phase.decode(line)
    except (UnicodeEncodeError, *NOT_JSON):
        return None
    figures: dict[tuple[str, bool], float] = {}
    for done, suffix in ((phase.first_done, "_first"), (phase.last_done, "")):
        figures.update(_json_figures(done, suffix, is_read=False))
        if done.rwmix_read is not None:
            figures.update(_json_figures(done.rwmix_read, suffix, is_read=True))
    return Phase(phase.phase_type, figures, facts=dict(json_facts(phase.config)))


def _json_figures(done: _JsonDone, suffix: str, *, is_read: bool) -> Iterator[tuple[tuple[str, bool], float]]:
    texts = {
        f"time{suffix}": (done.elapsed_time_ms, 1),
        f"entries{suffix}": (done.entries, 1),
        f"iops{suffix}": (done.iops, 1),
        f"bandwidth{suffix}": (done.bytes_per_s, MEBIBYTE),
        "latency": (done.latency.io.avg_us, 1),
        "latency_max": (done.latency.io.max_us, 1),
        "entry_latency": (done.latency.entries.avg_us, 1),
        "entry_latency_max": (done.latency.entries.max_us, 1),
    }
    for name, (text, divisor) in texts.items():
        value = None if text is None else figure(str(text))
        if value is not None:
            yield (name, is_read), value / divisor
