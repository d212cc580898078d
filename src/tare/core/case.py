"""A case: one level of every factor, with its workload's parameters and rank layout."""

from __future__ import annotations

import enum
from typing import NamedTuple

import msgspec

from tare.core.values import CaseId, Ordinal, Scalar, Settings


class Binding(enum.StrEnum):
    """What a rank is bound to."""

    NONE = "none"
    CORE = "core"
    SOCKET = "socket"


LAYOUT = ("nodes", "ranks", "ranks_per_node", "threads")
"""The settings of a layout."""


class Layout(msgspec.Struct, frozen=True):
    """How ranks lie on nodes. `ranks` are spread block-wise, `ranks_per_node` on each node.

    `bind` is None where it is not known, as of runs that were imported.
    """

    nodes: int = 1
    ranks: int = 1
    ranks_per_node: int = 1
    threads: int = 1
    bind: Binding | None = Binding.NONE

    def pair(self) -> Layout:
        """Return where two ranks of this layout meet over the network: on two nodes where there are.

        Each is one thread, however many this layout has.
        """
        nodes = min(self.nodes, 2)
        return Layout(nodes=nodes, ranks=2, ranks_per_node=2 // nodes, bind=self.bind)

    @property
    def binding(self) -> Binding:
        """Return what ranks are to be bound to; nothing where that is not known."""
        return self.bind or Binding.NONE


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the matrix. `id` is a hash of everything else but `names`.

    `parameters` are the workload's, complete with defaults, in the units that it declares.
    `names` are the chart names of the levels that carry one, by factor. `twin` tells the two cases of an
    A/A study apart, which are the same in all that runs. `unknown` names the settings of the layout of which
    nothing is known in an imported case: those of `layout` only stand in for them.
    """

    id: CaseId
    workload: str
    platform: str
    network: str | None = None
    storage: str | None = None
    io: str | None = None
    layout: Layout = Layout()
    parameters: Settings = {}
    names: dict[str, str] = {}
    twin: str | None = None
    unknown: tuple[str, ...] = ()

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
            "bind": layout.bind.value if layout.bind else None,
            "twin": self.twin,
        }
        known = {name: value for name, value in row.items() if value is not None and name not in self.unknown}
        return known | dict(self.parameters)


class Run(msgspec.Struct, frozen=True, order=True):
    """Repeat `block` of a case. Blocks count from 1; block 0 and below are warm-up passes."""

    block: Ordinal
    case: CaseId


class Pass(NamedTuple):
    """One pass over the cases of a block: what ran together. Passes sort in the order of time.

    `part` tells apart what ran before and after the pass was parted, as by a night (see answers.parting).
    """

    session: int
    block: int
    part: int = 0
