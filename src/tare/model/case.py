"""A case: one level of every factor, with its workload's parameters and rank layout."""

from __future__ import annotations

import enum

import msgspec

from tare.model.values import Scalar, Settings


class Binding(enum.StrEnum):
    """What a rank is bound to."""

    NONE = "none"
    CORE = "core"
    SOCKET = "socket"


class Layout(msgspec.Struct, frozen=True):
    """How ranks lie on nodes. `ranks` are spread block-wise, `ranks_per_node` on each node."""

    nodes: int = 1
    ranks: int = 1
    ranks_per_node: int = 1
    threads: int = 1
    bind: Binding = Binding.NONE

    def pair(self) -> Layout:
        """Return where two ranks of this layout meet over the network: on two nodes where there are."""
        nodes = min(self.nodes, 2)
        return Layout(nodes=nodes, ranks=2, ranks_per_node=2 // nodes, threads=self.threads, bind=self.bind)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the matrix. `id` is a hash of everything else but `names`.

    `parameters` are the workload's, complete with defaults, in the units that it declares.
    `names` are the chart names of the levels that carry one, by factor. `twin` tells the two cases of an
    A/A study apart, which are the same in all that runs.
    """

    id: str
    workload: str
    platform: str
    network: str | None = None
    storage: str | None = None
    io: str | None = None
    layout: Layout = Layout()
    parameters: Settings = {}
    names: dict[str, str] = {}
    twin: str | None = None

    @property
    def settings(self) -> dict[str, Scalar]:
        """Return the case as one flat table row, without the settings that it lacks."""
        layout = self.layout
        row: dict[str, Scalar | None] = {
            "workload": self.workload,
            "platform": self.platform,
            "network": self.network,
            "storage": self.storage,
            "io": self.io,
            "nodes": layout.nodes,
            "ranks": layout.ranks,
            "ranks_per_node": layout.ranks_per_node,
            "threads": layout.threads,
            "twin": self.twin,
        }
        return {name: value for name, value in row.items() if value is not None} | dict(self.parameters)


class Run(msgspec.Struct, frozen=True, order=True):
    """Repeat `block` of a case. Blocks count from 1; block 0 and below are warm-up passes."""

    block: int
    case: str
