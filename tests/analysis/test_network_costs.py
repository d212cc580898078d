"""Which microbenchmarks say what a message costs between two nodes."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from support.curves import SIZES, Wire, curves_campaign, joined, with_exchanges, with_sizes
from tare.analysis.predictions.network_costs import Call, NetworkCosts, nodes_of
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


def _renamed(campaign: Campaign) -> Campaign:
    """Return `campaign` with other names of its cases."""
    plan = campaign.plan
    cases = tuple(msgspec.structs.replace(case, id=f"{case.id}2") for case in plan.cases)
    attempts = tuple(msgspec.structs.replace(one, case=f"{one.case}2") for one in campaign.attempts)
    return msgspec.structs.replace(
        campaign, plan=msgspec.structs.replace(plan, cases=cases), attempts=attempts
    )


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
    cost = NetworkCosts(times).cost(_SIDE, Call("MPI_Allreduce", 1024, 4, 4))
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


def _placed(campaign: Campaign, nodes: int, ranks_per_node: int) -> Campaign:
    """Return `campaign` with its cases on so many nodes with so many ranks each."""
    layout = Layout(nodes=nodes, ranks=nodes * ranks_per_node, ranks_per_node=ranks_per_node)
    cases = [msgspec.structs.replace(case, layout=layout) for case in campaign.plan.cases]
    return msgspec.structs.replace(campaign, plan=msgspec.structs.replace(campaign.plan, cases=tuple(cases)))


@pytest.mark.parametrize(
    ("nodes", "remark"),
    [
        (2, ()),
        (4, ("Allreduce of 4 ranks from 2 nodes to 4 nodes",)),
        (None, ("Allreduce of 4 ranks from 2 nodes to unknown nodes",)),
    ],
)
def test_ranks_that_share_a_node_and_its_link_are_told_from_those_that_do_not(
    nodes: int | None, remark: tuple[str, ...]
) -> None:
    curves = _placed(curves_campaign({"host": _HOST}, with_collectives=4), 2, 2)
    cost = NetworkCosts(curves).cost(_SIDE, Call("MPI_Allreduce", 8, 4, nodes))
    assert cost is not None
    assert cost.remarks == remark


def test_a_curve_on_the_same_nodes_is_taken_before_others_of_as_many_ranks() -> None:
    wide = curves_campaign({"host": _SHARED_MEMORY}, with_collectives=4)
    narrow = _renamed(_placed(curves_campaign({"host": _HOST}, with_collectives=4), 2, 2))
    for both in (joined(wide, narrow), joined(narrow, wide)):
        cost = NetworkCosts(both).cost(_SIDE, Call("MPI_Allreduce", 8, 4, 2))
        assert cost is not None
        assert not cost.remarks
        assert float(np.nanmean(cost.seconds)) == pytest.approx(2 * _HOST.seconds(8), rel=0.02)


def test_two_ranks_of_a_collective_that_share_a_node_say_nothing_of_the_network() -> None:
    """As in the tables of IMB for 2 of the 4 processes that it was started with."""
    campaign = _with_another_run(curves_campaign({"host": _HOST}, with_collectives=4), factor=100.0)
    cost = NetworkCosts(_placed(campaign, 2, 2)).cost(_SIDE, Call("MPI_Allreduce", 1024, 2, 2))
    assert cost is not None
    assert cost.remarks == ("Allreduce from 4 to 2 ranks",)


def test_ranks_of_a_curve_and_of_a_program_may_both_be_on_unknown_nodes() -> None:
    curves = _on_one_node(curves_campaign({"host": _HOST}, with_collectives=2), unknown=("nodes",))
    cost = NetworkCosts(curves).cost(_SIDE, Call("MPI_Allreduce", 8, 2))
    assert cost is not None
    assert cost.remarks == ("Allreduce of 2 ranks from unknown nodes",)


def test_messages_between_ranks_on_unknown_nodes_are_named() -> None:
    imported = _on_one_node(curves_campaign({"host": _HOST}), unknown=("nodes",))
    cost = NetworkCosts(imported).cost(_SIDE, Call("MPI_Recv", 8, 4, 4))
    assert cost is not None
    assert cost.remarks == ("point-to-point of 2 ranks from unknown nodes to 2 nodes",)


def test_ranks_of_a_part_of_a_program_are_on_known_nodes_only_where_the_layout_says_it() -> None:
    layout = Layout(nodes=4, ranks=8, ranks_per_node=2)
    assert [nodes_of(layout, ranks) for ranks in (8, 4, 2)] == [4, None, 2]
    assert nodes_of(Layout(nodes=4, ranks=4, ranks_per_node=1), 3) == 3


def test_curves_of_large_messages_say_nothing_of_small_ones() -> None:
    """8 bytes do not cost what 64 KiB do."""
    costs = NetworkCosts(with_sizes(curves_campaign({"host": _HOST}, with_collectives=2), 1 << 16, 1 << 20))
    assert costs.latency(_SIDE) is None
    assert costs.cost(_SIDE, Call("MPI_Recv", 8, 2, 2)) is None
    assert costs.cost(_SIDE, Call("MPI_Allreduce", 8, 2, 2)) is None
    assert costs.cost(_SIDE, Call("MPI_Recv", 1 << 17, 2, 2)) is not None


def test_curves_of_small_messages_say_nothing_of_large_ones_nor_of_the_bandwidth() -> None:
    costs = NetworkCosts(with_sizes(curves_campaign({"host": _HOST}, noise=0.05), 0, 1024))
    assert costs.bytes_per_s(_SIDE) is None
    assert costs.cost(_SIDE, Call("MPI_Recv", 1 << 20, 2, 2)) is None
    assert costs.cost(_SIDE, Call("MPI_Recv", 8, 2, 2)) is not None
    assert costs.latency(_SIDE) is not None


@pytest.mark.parametrize("function", ["MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Isendrecv"])
def test_a_message_each_way_costs_what_exchanges_do(function: str) -> None:
    costs = NetworkCosts(with_exchanges(curves_campaign({"host": _HOST}), {"host": 1.8}))
    for called, factor in ((function, 1.8), ("MPI_Recv", 1.0), ("MPI_Irecv", 1.0)):
        cost = costs.cost(_SIDE, Call(called, 1 << 20, 2, 2))
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
    cost = costs.cost(("bare", "overlay"), Call("MPI_Sendrecv", 8, 2, 2))
    assert cost is not None
    assert float(np.nanmean(cost.seconds)) == pytest.approx(60e-6, rel=0.03)
    assert costs.exchange_s(("bare", "overlay"), "MPI_Irecv", 8) is None
