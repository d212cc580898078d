"""A figure is held against what its link, memory or processors can give, where one of them is known."""

from __future__ import annotations

import msgspec
import pytest

from support.synthetic import PINGPONG_FOMS, make_campaign, make_case
from tare.analysis.bounds import bound
from tare.core.bounds import Link, Peaks, Resource
from tare.core.campaign import Campaign
from tare.plugins import registry

HARDWARE = {"nic.ib0.speed": "25000", "nic.ib0.driver": "mlx5_core"}


def limited(
    limit: Resource | None = Resource.LINK,
    *,
    rate: float | None = None,
    facts: dict[str, str] | None = None,
    peaks: Peaks | None = None,
    nodes: int = 2,
) -> Campaign:
    """Return a campaign whose bandwidth has a `limit`; the first node's facts are `facts`."""
    campaign = make_campaign([make_case("host", nodes=nodes), make_case("overlay", nodes=nodes)])
    latency, bandwidth = PINGPONG_FOMS
    foms = (latency, msgspec.structs.replace(bandwidth, limit=limit))
    plan = msgspec.structs.replace(
        campaign.plan,
        foms={"synthetic.pingpong": foms},
        links={"host": Link(interface="ib0", rate_bits_per_s=rate)},
        peaks=peaks or Peaks(),
    )
    return msgspec.structs.replace(
        campaign,
        plan=plan,
        attempts=tuple(msgspec.structs.replace(one, environment="e1") for one in campaign.attempts),
        environments={"e1": {"n1": facts or {}, "n2": HARDWARE if facts else {}}},
    )


def told(campaign: Campaign) -> float | None:
    found = bound(campaign, campaign.plan.cases[0], "bandwidth", "MB/s")
    return found.value if found else None


def test_the_site_gives_the_rate_of_a_link() -> None:
    assert told(limited(rate=25e9)) == pytest.approx(3125)


def test_both_directions_of_a_link_carry_twice_its_rate() -> None:
    assert told(limited(Resource.LINK_BOTH_WAYS, rate=25e9)) == pytest.approx(6250)


def test_the_slowest_adapter_of_the_nodes_is_the_bound_where_the_site_gives_nothing() -> None:
    assert told(limited(facts=HARDWARE)) == pytest.approx(3125)
    assert told(limited(facts=HARDWARE | {"nic.ib0.speed": "10000"})) == pytest.approx(1250)


def test_the_speed_that_a_virtual_interface_claims_is_no_bound() -> None:
    assert told(limited(facts={"nic.ib0.speed": "10000"})) is None


def test_an_rdma_port_gives_its_rate() -> None:
    campaign = limited(facts=HARDWARE)
    port = {"rdma.mlx5_0.port1.rate": "100 Gb/sec (4X EDR)"}
    campaign = msgspec.structs.replace(
        campaign,
        plan=msgspec.structs.replace(campaign.plan, links={"host": Link(interface="mlx5_0:1")}),
        environments={"e1": {"n1": port, "n2": port}},
    )
    assert told(campaign) == pytest.approx(12500)


def test_a_figure_of_one_node_is_not_bound_by_a_link() -> None:
    assert told(limited(rate=25e9, nodes=1)) is None


def test_a_figure_without_a_limit_or_with_another_unit_has_no_bound() -> None:
    assert told(limited(None, rate=25e9)) is None
    campaign = limited(rate=25e9)
    assert bound(campaign, campaign.plan.cases[0], "bandwidth", "msg/s") is None


def test_the_memory_of_all_nodes_bounds_what_they_move_together() -> None:
    campaign = limited(Resource.MEMORY, peaks=Peaks(memory_bytes_per_s=200e9))
    assert told(campaign) == pytest.approx(400_000)


def test_the_peak_of_all_nodes_bounds_their_operations() -> None:
    campaign = limited(Resource.FLOPS, peaks=Peaks(flops=2e12))
    found = bound(campaign, campaign.plan.cases[0], "bandwidth", "Gflop/s")
    assert found is not None
    assert found.value == pytest.approx(4000)
    assert found.source == "site file, 2 nodes"


@pytest.mark.parametrize(
    ("workload", "fom", "limit"),
    [
        ("imb.pingpong", "bandwidth", Resource.LINK),
        ("imb.sendrecv", "bandwidth", Resource.LINK_BOTH_WAYS),
        ("imb.uniband", "bandwidth", None),
        ("osu.bw", "bandwidth", Resource.LINK),
        ("osu.bibw", "bandwidth", Resource.LINK_BOTH_WAYS),
        ("osu.mbw_mr", "bandwidth", None),
        ("tare.p2p", "bandwidth_p50", Resource.LINK),
        ("tare.p2p", "latency_p50", None),
        ("iperf3", "throughput", Resource.LINK),
        ("stream", "triad", Resource.MEMORY),
        ("hpl", "gflops", Resource.FLOPS),
        ("hpcc", "HPL_Tflops", Resource.FLOPS),
        ("hpcg", "gflops", None),
    ],
)
def test_workloads_name_what_bounds_their_figures(workload: str, fom: str, limit: Resource | None) -> None:
    foms = {one.name: one.limit for one in registry.workloads()[workload].foms}
    assert foms.get(fom) is limit
