"""Answers of Prometheus, as https://prometheus.io/docs/prometheus/latest/querying/api/ has them."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tare.plugins.collectors.prometheus import RefusedQuery, range_urls, read_range


def _answer(*series: tuple[dict[str, str], list[tuple[float, str]]]) -> bytes:
    result = [{"metric": metric, "values": values} for metric, values in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def test_a_long_time_is_asked_in_parts_that_prometheus_answers() -> None:
    asked = [parse_qs(urlsplit(url).query) for url in range_urls("http://p/", "up", 1000.0, 31000.5, 1.0)]
    parts = [tuple(float(one[name][0]) for name in ("start", "end", "step")) for one in asked]
    assert parts == [(1000, 11999, 1), (12000, 22999, 1), (23000, 31000, 1)]
    assert all((end - start) / step < 11_000 for start, end, step in parts)
    assert len(list(range_urls("http://p", "up", 5.0, 5.5, 1.0))) == 1, "a run that is shorter than a step"


@pytest.mark.parametrize(
    ("instance", "host"),
    [
        ("n1:9100", "n1"),
        ("n1", "n1"),
        ("n1.hpc.example:9100", "n1.hpc.example"),
        ("[fd00::1]:9100", "fd00::1"),
        ("fd00::1", "fd00::1"),
        ("10.0.0.1:9100", "10.0.0.1"),
    ],
)
def test_the_port_of_an_instance_is_no_part_of_its_host(instance: str, host: str) -> None:
    (found,) = read_range(_answer(({"instance": instance}, [(1.0, "2")])), "load", "instance", 1.0)
    assert found.host == host


def test_gaps_of_a_series_that_is_stale_and_values_that_are_none_are_left_out() -> None:
    response = _answer(({"instance": "n1:9100"}, [(1.0, "2"), (2.0, "NaN"), (9.0, "+Inf"), (12.0, "3")]))
    assert [(one.at, one.values) for one in read_range(response, "load", "instance", 1.0)] == [
        (1.0, {"load": 2.0}),
        (12.0, {"load": 3.0}),
    ]


def test_none_of_several_series_stands_for_a_host() -> None:
    cores = [({"instance": "n1:9100", "cpu": str(n)}, [(1.0, "2")]) for n in range(2)]
    with pytest.raises(RefusedQuery, match=r"sum by \(instance\)"):
        read_range(_answer(*cores), "load", "instance", 1.0)


@pytest.mark.parametrize("response", [b"", b"<html>", b'{"status":"error","error":"parse error"}', b"{}"])
def test_what_is_no_series_is_refused(response: bytes) -> None:
    with pytest.raises(RefusedQuery):
        read_range(response, "load", "instance", 1.0)
