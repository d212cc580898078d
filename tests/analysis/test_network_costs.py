"""Which microbenchmarks say what a message costs between two nodes."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from support.curves import SIZES, Wire, curves_campaign, joined, with_exchanges, with_sizes
from tare.analysis.network_costs import NetworkCosts
from tare.core.campaign import Campaign
from tare.core.case import Layout

_HOST = Wire(10e-6, 1e9)
_SHARED_MEMORY = Wire(0.2e-6, 1e10)
_SIDE = ("bare", "host")


def _on_one_node(campaign: Campaign, *, unknown: tuple[str, ...] = ()) -> Campaign:
    """Return `campaign` with two ranks on one node in place of two nodes, in cases of their own."""
    cases = {
        case.id: msgspec.structs.replace(
            case, id=f"{case.id}1", layout=Layout(nodes=1, ranks=2, ranks_per_node=2), unknown=unknown
        )
        for case in campaign.plan.cases
    }
    attempts = tuple(msgspec.structs.replace(one, case=cases[one.case].id) for one in campaign.attempts)
    plan = msgspec.structs.replace(campaign.plan, cases=tuple(cases.values()))
    return msgspec.structs.replace(campaign, plan=plan, attempts=attempts)


def _latency_s(campaign: Campaign) -> float:
    found = NetworkCosts(campaign).latency(_SIDE)
    assert found is not None
    return float(np.nanmean(found))


def test_messages_on_one_node_say_nothing_of_the_network() -> None:
    near = _on_one_node(curves_campaign({"host": _SHARED_MEMORY}, with_collectives=2))
    assert not NetworkCosts(near).sides
    both = joined(near, curves_campaign({"host": _HOST}))
    assert _latency_s(both) == pytest.approx(_HOST.seconds(8), rel=0.02)


def test_curves_of_an_unknown_number_of_nodes_are_used() -> None:
    imported = _on_one_node(curves_campaign({"host": _HOST}), unknown=("nodes",))
    assert _latency_s(imported) == pytest.approx(_HOST.seconds(8), rel=0.02)


def test_runs_of_one_output_with_other_coordinates_are_other_curves() -> None:
    """An output may hold several runs, such as of 2 ranks and of 4: their times are not mixed."""
    campaign = curves_campaign({"host": _HOST}, with_collectives=4)
    times = _with_another_run(campaign, factor=100.0)
    cost = NetworkCosts(times).cost(_SIDE, "MPI_Allreduce", 1024, 4)
    assert cost is not None
    assert float(np.nanmean(cost.seconds)) == pytest.approx(2 * _HOST.seconds(1024), rel=0.02)
    assert not cost.remarks


def _with_another_run(campaign: Campaign, factor: float) -> Campaign:
    """Return `campaign` with each collective measured among 2 ranks too: `factor` times as long."""
    attempts = []
    for one in campaign.attempts:
        series = []
        for each in one.series:
            if each.fom != "time_mean":
                series.append(each)
                continue
            n = len(each.values)
            assert n == len(SIZES) - 1
            at = {name: [*values, *values] for name, values in each.at.items()}
            series.append(
                msgspec.structs.replace(
                    each,
                    at={**at, "ranks": [4] * n + [2] * n},
                    values=[*each.values, *(value * factor for value in each.values)],
                )
            )
        attempts.append(msgspec.structs.replace(one, series=series))
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def test_curves_of_large_messages_say_nothing_of_small_ones() -> None:
    """8 bytes do not cost what 64 KiB do."""
    costs = NetworkCosts(with_sizes(curves_campaign({"host": _HOST}, with_collectives=2), 1 << 16, 1 << 20))
    assert costs.latency(_SIDE) is None
    assert costs.cost(_SIDE, "MPI_Recv", 8, 2) is None
    assert costs.cost(_SIDE, "MPI_Allreduce", 8, 2) is None
    assert costs.cost(_SIDE, "MPI_Recv", 1 << 17, 2) is not None


def test_curves_of_small_messages_say_nothing_of_large_ones_nor_of_the_bandwidth() -> None:
    costs = NetworkCosts(with_sizes(curves_campaign({"host": _HOST}, noise=0.05), 0, 1024))
    assert costs.bytes_per_s(_SIDE) is None
    assert costs.cost(_SIDE, "MPI_Recv", 1 << 20, 2) is None
    assert costs.cost(_SIDE, "MPI_Recv", 8, 2) is not None
    assert costs.latency(_SIDE) is not None


@pytest.mark.parametrize("function", ["MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Isendrecv"])
def test_a_message_each_way_costs_what_exchanges_do(function: str) -> None:
    costs = NetworkCosts(with_exchanges(curves_campaign({"host": _HOST}), {"host": 1.8}))
    for called, factor in ((function, 1.8), ("MPI_Recv", 1.0), ("MPI_Irecv", 1.0)):
        cost = costs.cost(_SIDE, called, 1 << 20, 2)
        assert cost is not None
        assert float(np.nanmean(cost.seconds)) == pytest.approx(factor * _HOST.seconds(1 << 20), rel=0.03)
    assert costs.exchange_s(_SIDE, "MPI_Irecv", 1 << 20) == pytest.approx(
        1.8 * _HOST.seconds(1 << 20), rel=0.03
    )
    assert costs.exchange_s(_SIDE, "MPI_Iallreduce", 8) is None


def test_exchanges_that_one_network_lacks_are_used_on_none() -> None:
    """Else a message each way on one network would be held against a message one way on the other."""
    curves = curves_campaign({"host": _HOST, "overlay": Wire(60e-6, 2e8)})
    costs = NetworkCosts(with_exchanges(curves, {"overlay": 1.8}))
    cost = costs.cost(("bare", "overlay"), "MPI_Sendrecv", 8, 2)
    assert cost is not None
    assert float(np.nanmean(cost.seconds)) == pytest.approx(60e-6, rel=0.03)
    assert costs.exchange_s(("bare", "overlay"), "MPI_Irecv", 8) is None
