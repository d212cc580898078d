"""What a call costs on a network: times against message size, from the microbenchmarks of a campaign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tare.analysis.aspects import LARGE_MESSAGE_BYTES, SMALL_MESSAGE_BYTES
from tare.analysis.predictions.collective_steps import EXCHANGES, RECEIVES, base_name, steps
from tare.analysis.table import Cell, Table, tabulate
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.counting import count
from tare.core.units import seconds_in
from tare.core.values import Scalar
from tare.stats.intervals import Floats

Side = tuple[str, str | None]
"""A platform and a network."""

POINT_TO_POINT = "point-to-point"
_EXCHANGE = "exchange"
_EXCHANGE_FOMS = {"tare.p2p": "exchange_mean", "imb.sendrecv": "time_avg"}

_PAIRS = {"tare.p2p": "latency_mean", "osu.latency": "latency", "imb.pingpong": "latency"}
_FAMILIES = {"osu": "latency", "imb": "time_avg"}
_FAR = 1.001
_LEAST_SIZES = 3
_OF_A_CURVE = frozenset({"bytes", "op"})
"""The coordinates along a curve, and of its operation; those that differ in others are other curves."""


class CostCurve(NamedTuple):
    """The times of one operation among `ranks` of one side, in seconds: passes × sizes, NaN where missing.

    `nodes` is the number of nodes on which these ranks are; None where it is not known.
    """

    operation: str
    side: Side
    ranks: int
    nodes: int | None
    sizes: tuple[float, ...]
    times: Floats


class Call(NamedTuple):
    """One call of an MPI function: its bytes (per peer in all-to-alls), and how many ranks take part.

    `nodes` is the number of nodes on which these ranks are; None where it is not known.
    """

    function: str
    n_bytes: float
    ranks: int
    nodes: int | None = None


class Cost(NamedTuple):
    """The cost of a call in seconds, one per pass, and what was assumed for it, if anything."""

    seconds: Floats
    remarks: tuple[str, ...] = ()


def is_curve(case: Case) -> bool:
    """Return whether a case measures what calls cost, and is no program whose time could be predicted."""
    return case.workload in _PAIRS or case.workload.partition(".")[0] in (*_FAMILIES, "tare")


def side_of(case: Case) -> Side:
    """Return the platform and the network of a case."""
    return case.platform, case.network


class NetworkCosts:
    """The costs of calls on each side for which a campaign has curves."""

    def __init__(self, campaign: Campaign) -> None:
        table = tabulate(campaign)
        self._curves: dict[tuple[Side, str], list[CostCurve]] = {}
        for case in campaign.plan.cases:
            for curve in _curves(case, table):
                self._curves.setdefault((curve.side, curve.operation), []).append(curve)
        self._has_exchanges = all((side, _EXCHANGE) in self._curves for side in self.sides)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Return the sides that have a curve, in the order of the plan."""
        return tuple(dict.fromkeys(side for side, _ in self._curves))

    def latency(self, side: Side, n_bytes: float = 8.0) -> Floats | None:
        """Return the time of a small message between two nodes, one per pass; None if it was not measured."""
        known = self._covering(side, POINT_TO_POINT, n_bytes)
        return _at(known[0], n_bytes)[0] if known else None

    def bytes_per_s(self, side: Side) -> float | None:
        """Return the bandwidth of large messages between two nodes; None if it was not measured."""
        known = self._curves.get((side, POINT_TO_POINT), [])
        large = [
            one for one in known if len(one.sizes) >= _LEAST_SIZES and one.sizes[-1] >= LARGE_MESSAGE_BYTES
        ]
        if not large:
            return None
        sizes, times = large[0].sizes, np.nanmean(large[0].times[:, -2:], axis=0)
        return float((sizes[-1] - sizes[-2]) / (times[1] - times[0])) if times[1] > times[0] else None

    def cost(self, side: Side, call: Call) -> Cost | None:
        """Return what one call costs; None if no curve of this side says it.

        A message beside which one goes the other way costs what exchanges do, if all sides have a curve of
        them. A curve among other numbers of ranks is scaled by the steps of the operation; without any curve
        of the operation, its steps are messages between two ranks. Both are remarks, and so are sizes beyond
        a curve, and ranks on other nodes: those that share a node share its link too.
        """
        needed = steps(call.function, call.n_bytes, call.ranks)
        if needed is None:
            return None
        name = base_name(call.function)
        known = self._covering(side, name, call.n_bytes)
        if known:
            near = min(known, key=lambda one: _distance(one, call))
            found, remarks = _at(near, call.n_bytes)
            if near.ranks == call.ranks:
                return Cost(found, (*remarks, *_elsewhere(near, call)))
            before = steps(call.function, call.n_bytes, near.ranks)
            factor = needed.messages / before.messages if before else 1.0
            return Cost(
                found * factor, (*remarks, f"{name} from {near.ranks} to {count(call.ranks, 'rank')}")
            )
        one_message = needed.n_bytes / needed.messages
        is_exchange = call.function in EXCHANGES and self._has_exchanges
        pairs = self._covering(side, _EXCHANGE if is_exchange else POINT_TO_POINT, one_message)
        if not pairs:
            return None
        found, remarks = _at(pairs[0], one_message)
        remarks += _elsewhere(pairs[0], Call(call.function, one_message, 2, 2))
        if needed.messages == 1 and name not in _collectives():
            return Cost(found, remarks)
        return Cost(found * needed.messages, (*remarks, f"{name} as messages between two ranks"))

    def exchange_s(self, side: Side, function: str, n_bytes: float) -> float | None:
        """Return the time of a message while another goes the other way, in seconds, for receives.

        Return None for other functions, and unless all sides have a curve of exchanges.
        """
        known = (
            self._covering(side, _EXCHANGE, n_bytes) if self._has_exchanges and function in RECEIVES else []
        )
        return float(np.nanmean(_at(known[0], n_bytes)[0])) if known else None

    def _covering(self, side: Side, operation: str, n_bytes: float) -> list[CostCurve]:
        return [one for one in self._curves.get((side, operation), []) if _covers(one, n_bytes)]


def nodes_of(layout: Layout, ranks: int) -> int | None:
    """Return on how many nodes some `ranks` are that span nodes; None unless the layout says it."""
    if ranks == layout.ranks:
        return layout.nodes
    return ranks if ranks == 2 or layout.ranks_per_node == 1 else None


def _distance(curve: CostCurve, call: Call) -> tuple[float, float]:
    """Return how far the ranks and the nodes of a curve are from those of a call."""
    nodes = abs(np.log(curve.nodes / call.nodes)) if curve.nodes and call.nodes else np.inf
    return abs(np.log(curve.ranks / call.ranks)), nodes


def _elsewhere(curve: CostCurve, call: Call) -> tuple[str, ...]:
    """Return the remark that ranks of a curve are not known to be on as many nodes as those of a call."""
    if curve.nodes and curve.nodes == call.nodes:
        return ()
    known = dict.fromkeys(count(one, "node") if one else "unknown nodes" for one in (curve.nodes, call.nodes))
    return (f"{curve.operation} of {count(curve.ranks, 'rank')} from {' to '.join(known)}",)


def _covers(curve: CostCurve, n_bytes: float) -> bool:
    """Return whether a curve says what `n_bytes` cost.

    Small messages all cost about the latency. So curves of them alone say nothing of large ones, nor do those
    of large ones alone of smaller ones.
    """
    first, last = curve.sizes[0], curve.sizes[-1]
    if n_bytes < first:
        return first <= SMALL_MESSAGE_BYTES
    return n_bytes <= max(last * _FAR, SMALL_MESSAGE_BYTES) or (
        last > SMALL_MESSAGE_BYTES and len(curve.sizes) > 1
    )


def _collectives() -> frozenset[str]:
    return frozenset(_NAMES.values())


_NAMES = {
    name.lower(): name
    for name in ("Barrier", "Bcast", "Reduce", "Gather", "Scatter", "Allreduce", "Reduce_scatter", "Alltoall")
} | {"allgather": "Allgather", "reduce_scatter_block": "Reduce_scatter_block"}


def _curves(case: Case, table: Table) -> Iterator[CostCurve]:
    """Yield the curves of a case: one for each operation and run of one output, with a time for each size.

    Messages between ranks of one node say nothing of the network.
    """
    if case.layout.nodes == 1 and "nodes" not in case.unknown:
        return
    points: dict[tuple[str, frozenset[tuple[str, Scalar]]], dict[float, tuple[Cell, int]]] = {}
    for cell, column in table.columns.get(case.id, {}).items():
        operation = _operation(case.workload, cell)
        if operation and seconds_in(cell.unit):
            others = frozenset(one for one in cell.at if one[0] not in _OF_A_CURVE)
            size = dict(cell.at).get("bytes", 0)
            if isinstance(size, (int, float)):
                points.setdefault((operation, others), {})[float(size)] = (cell, column)
    for (operation, others), found in points.items():
        sizes = sorted(found)
        factor = np.array([seconds_in(found[size][0].unit) for size in sizes], np.float64)
        times = table.values[:, [found[size][1] for size in sizes]] * factor
        among = dict(others).get("ranks")
        own = among if isinstance(among, int) else case.layout.ranks
        ranks = 2 if operation == POINT_TO_POINT else own
        nodes = _nodes_of_first(case, ranks)
        if ranks > 1 and nodes != 1 and (ranks == 2 or operation != _EXCHANGE):
            yield CostCurve(operation, side_of(case), ranks, nodes, tuple(sizes), times)


def _nodes_of_first(case: Case, ranks: int) -> int | None:
    """Return on how many nodes the first `ranks` of a case are: they fill one node after the other.

    Benchmarks of pairs put their two ranks on two nodes, whatever the layout of their case.
    """
    if {"nodes", "ranks_per_node"} & set(case.unknown):
        return None
    if case.workload in _PAIRS:
        return 2
    return case.layout.nodes if ranks == case.layout.ranks else -(-ranks // case.layout.ranks_per_node)


def _operation(workload: str, cell: Cell) -> str:
    """Return the operation whose mean time `cell` holds; empty if it holds none."""
    family, _, name = workload.partition(".")
    if cell.fom == _EXCHANGE_FOMS.get(workload):
        return _EXCHANGE
    if workload in _PAIRS:
        return POINT_TO_POINT if cell.fom == _PAIRS[workload] else ""
    if workload == "tare.collectives" and cell.fom == "time_mean":
        return _NAMES.get(str(dict(cell.at).get("op", "")), "")
    if cell.fom == _FAMILIES.get(family):
        return _NAMES.get(name, "")
    return ""


def _at(curve: CostCurve, n_bytes: float) -> tuple[Floats, tuple[str, ...]]:
    """Return the times of `n_bytes` in each pass, by log-log interpolation between measured sizes.

    Beyond the largest size the time grows as between the last two.
    """
    sizes, times = np.array(curve.sizes), curve.times
    if n_bytes <= sizes[0] or len(sizes) == 1:
        is_far = n_bytes > sizes[-1] * _FAR
        return times[:, 0], ((_beyond(curve),) if is_far else ())
    if n_bytes > sizes[-1]:
        slope = (times[:, -1] - times[:, -2]) / (sizes[-1] - sizes[-2])
        grown = times[:, -1] + np.maximum(slope, 0) * (n_bytes - sizes[-1])
        return grown, ((_beyond(curve),) if n_bytes > sizes[-1] * _FAR else ())
    after = int(np.searchsorted(sizes, n_bytes))
    below, above = max(float(sizes[after - 1]), 0.5), float(sizes[after])
    share = np.log(max(n_bytes, below) / below) / np.log(above / below)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.exp((1 - share) * np.log(times[:, after - 1]) + share * np.log(times[:, after]))
    return found, ()


def _beyond(curve: CostCurve) -> str:
    return f"{curve.operation} beyond {curve.sizes[-1]:,.0f} B"


def paired(costs: Sequence[Floats]) -> Floats:
    """Return passes × costs; an empty array if there are none."""
    return np.column_stack(costs) if costs else np.zeros((0, 0))
