"""What a site's own Prometheus recorded of hosts, by its HTTP API (prometheus.io/docs, Querying)."""

from __future__ import annotations

import math
from urllib.parse import urlencode

import msgspec

from tare.collectors.sysstat import Reading

_MOST_POINTS = 11_000  # that Prometheus returns of one series


class RefusedQuery(ValueError):
    """Prometheus did not answer with a series over time."""


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct):
    result_type: str = msgspec.field(name="resultType")
    result: list[_Series] = []


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


def range_url(base: str, query: str, began_at: float, ended_at: float, step_s: float) -> str:
    """Return the address that answers `query` over a time, every `step_s` or as often as is allowed."""
    step = max(step_s, (ended_at - began_at) / _MOST_POINTS)
    asked = {"query": query, "start": f"{began_at:.3f}", "end": f"{ended_at:.3f}", "step": f"{step:.3f}"}
    return f"{base.rstrip('/')}/api/v1/query_range?{urlencode(asked)}"


def read_range(answer: bytes, figure: str, host_label: str, step_s: float) -> list[Reading]:
    """Return the readings in an answer; a series without `host_label` belongs to no host and is left out.

    The port of an ``instance`` is no part of its host. Raises RefusedQuery.
    """
    try:
        found = msgspec.json.decode(answer, type=_Answer)
    except msgspec.DecodeError as error:
        raise RefusedQuery(f"this is no answer of Prometheus: {error}") from error
    if found.status != "success" or found.data is None:
        raise RefusedQuery(found.error or "Prometheus does not say why")
    readings = []
    for series in found.data.result:
        host = series.metric.get(host_label, "").rpartition(":")[0] or series.metric.get(host_label, "")
        for at, text in series.values if host else ():
            value = float(text)
            if math.isfinite(value):
                readings.append(Reading(host, at, step_s, {figure: value}))
    return readings
