"""Read a site's own Prometheus records of hosts, through its HTTP API (prometheus.io/docs, Querying)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from urllib.parse import urlencode

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON
from tare.plugins.collectors.sysstat import Reading

_MOST_POINTS = 11_000  # the most that Prometheus returns for one series


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


def range_urls(base: str, query: str, began_at: float, ended_at: float, step_s: float) -> Iterator[str]:
    """Yield the URLs that query `query` over a time range, every `step_s`.

    A long range needs several URLs.
    """
    n_points = int((ended_at - began_at) / step_s + 1e-9) + 1
    for first in range(0, n_points, _MOST_POINTS):
        last = min(first + _MOST_POINTS, n_points) - 1
        start, end = began_at + first * step_s, began_at + last * step_s
        asked = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step_s:.3f}"}
        yield f"{base.rstrip('/')}/api/v1/query_range?{urlencode(asked)}"


def read_range(answer: bytes, figure: str, host_label: str, step_s: float) -> list[Reading]:
    """Return the readings in an answer. A series without `host_label` belongs to no host and is left out.

    The port of an ``instance`` is not part of its host. Raises RefusedQuery, also if a host has several
    series, because none of them can represent the host.
    """
    try:
        found = decode_json(answer, type=_Answer)
    except NOT_JSON as error:
        raise RefusedQuery(f"this is no answer of Prometheus: {error}") from error
    if found.status != "success" or found.data is None:
        raise RefusedQuery(found.error or "Prometheus gives no reason")
    readings: dict[tuple[str, float], Reading] = {}
    for series in found.data.result:
        host = _without_port(series.metric.get(host_label, ""))
        for at, text in series.values if host else ():
            value = _value(text)
            if (host, at) in readings:
                raise RefusedQuery(
                    f"several series are of {host}; make one of them, as with: sum by ({host_label}) (…)"
                )
            if math.isfinite(value):
                readings[host, at] = Reading(host, at, step_s, {figure: value})
    return list(readings.values())


def _value(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise RefusedQuery(f"this is no answer of Prometheus: {text[:40]!r} is no value") from error


def _without_port(instance: str) -> str:
    if instance.startswith("["):  # an address of IPv6
        return instance[1:].partition("]")[0]
    host, _, port = instance.partition(":")
    return host if port.isdigit() else instance
