"""Lines, crossings and plateaus of whole campaigns."""

from __future__ import annotations

import msgspec
import pytest

from support.scales import make_application
from support.synthetic import make_attempt, make_campaign, make_case
from tare.analysis.scales.curves import curves
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.workload import Better

SIZES = (1, 64, 1024, 8192, 65536, 1048576)


def crossing_campaign() -> Campaign:
    """Return one in which overlay has half the latency and half the bandwidth: equal at 20 kB."""
    campaign = make_campaign(sizes=SIZES)
    networks = {case.id: case.network for case in campaign.plan.cases}
    attempts = []
    for index, one in enumerate(campaign.attempts):
        case = campaign.cases[one.case]
        slow = 1.0 + 0.001 * (index % 3)
        start, share = (20, 1) if networks[one.case] == "host" else (10, 2)
        latency = [slow * (start + share * size / 2000) for size in SIZES]
        attempts.append(make_attempt(case, one.block, latency, SIZES))
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def with_threads(case: Case, threads: int) -> Case:
    layout = Layout(threads=threads)
    return msgspec.structs.replace(case, layout=layout, id=f"{case.id}{threads}")


def test_hockney_recovers_what_made_the_latencies() -> None:
    found = curves(make_campaign(noise=0.005)).hockney
    assert [one.settings["network"] for one in found] == ["host", "overlay"]
    host = found[0]
    assert host.latency is not None
    assert host.bandwidth is not None
    assert host.latency.value == pytest.approx(20, rel=0.02)
    assert host.bandwidth.value == pytest.approx(1000, rel=0.02)
    assert host.n_blocks == 5


def test_sides_cross_where_latency_and_bandwidth_balance() -> None:
    found = [one for one in curves(crossing_campaign()).crossovers if one.fom == "latency"]
    (one,) = found
    assert one.first == {"network": "overlay"}
    assert one.second == {"network": "host"}
    assert one.x.value == pytest.approx(20_000, rel=0.2)
    assert one.between == pytest.approx((8192, 65536))
    assert one.is_certain
    assert one.x.low is not None
    assert one.x.low <= one.x.value


def test_a_bandwidth_crosses_where_its_latency_does() -> None:
    latency, bandwidth = curves(crossing_campaign()).crossovers
    assert latency.first == bandwidth.first
    assert latency.x.value == pytest.approx(bandwidth.x.value)


def test_sides_that_differ_everywhere_do_not_cross() -> None:
    assert curves(make_campaign(ratio=1.5)).crossovers == ()


def test_a_rate_saturates_at_the_fewest_threads_near_the_best() -> None:
    cases = [with_threads(make_case(workload="synthetic.application"), threads) for threads in (1, 2, 4, 8)]
    rates = {1: 10.0, 2: 19.0, 4: 29.5, 8: 30.0}
    campaign = make_application({"host": lambda case: rates[case.layout.threads]}, cases=cases, noise=0.001)
    (found,) = curves(campaign).saturations
    assert (found.along, found.x, found.certain_x, found.best_x) == ("threads", 4, 4, 8)
    assert found.better is Better.HIGHER
    assert not found.is_open


def test_what_still_grows_at_the_last_point_is_open() -> None:
    found = curves(make_campaign()).saturations
    assert {one.along for one in found} == {"bytes"}
    assert all(one.is_open for one in found)
