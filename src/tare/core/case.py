"""A case: one level of every factor, with its workload's parameters and rank layout."""

from __future__ import annotations

import enum
from typing import NamedTuple

import msgspec

from tare.core.software import Layers, settings_of
from tare.core.values import CaseId, Ordinal, Scalar, Settings


class Binding(enum.StrEnum):
    """What a rank is bound to."""

    NONE = "none"
    CORE = "core"
    SOCKET = "socket"


LAYOUT = ("nodes", "ranks", "ranks_per_node", "threads")
"""The settings of a layout."""


class Layout(msgspec.Struct, frozen=True):
    """How ranks are placed on nodes: `ranks` in blocks of `ranks_per_node` on each node.

    `bind` is None where the binding is unknown, as for imported runs.
    """

    nodes: int = 1
    ranks: int = 1
    ranks_per_node: int = 1
    threads: int = 1
    bind: Binding | None = Binding.NONE

    def pair(self) -> Layout:
        """Return the layout of two ranks that meet over this layout's network: on two nodes if it has two.

        Each rank has one thread, whatever the threads of this layout.
        """
        nodes = min(self.nodes, 2)
        return Layout(nodes=nodes, ranks=2, ranks_per_node=2 // nodes, bind=self.bind)

    @property
    def binding(self) -> Binding:
        """Return what ranks are to be bound to; NONE where that is unknown."""
        return self.bind or Binding.NONE


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of settings. `id` is a hash of everything else except `names`.

    `parameters` are the workload's, complete with defaults, in the units that it declares. `names` are the
    chart names of levels that have one, by factor. `twin` distinguishes the two cases of an A/A study, which
    run exactly the same. `profile_of` is the id of the case that this one profiles: it runs the same with the
    profiling library, and is compared with no other. `unknown` names the layout settings of an imported case
    that are not known; their values in `layout` are placeholders. `software` is what the study loads, after
    what the site and the platform load.
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
    profile_of: CaseId | None = None
    unknown: tuple[str, ...] = ()
    software: Layers = ()

    @property
    def settings(self) -> dict[str, Scalar]:
        """Return the case as one flat row of a table, without the settings that it lacks."""
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
            "profiled": True if self.profile_of else None,
        }
        known = {name: value for name, value in row.items() if value is not None}
        for name in self.unknown:
            known.pop(name, None)
        if self.software:
            known.update(settings_of(self.software))
        known.update(self.parameters)
        return known

    def has(self, wanted: Settings) -> bool:
        """Return whether the case has every setting of `wanted`."""
        return all(self._setting(name) == value for name, value in wanted.items())

    def _setting(self, name: str) -> Scalar | None:
        """Return ``settings.get(name)`` without making the other settings."""
        if name in self.parameters:
            return self.parameters[name]
        if name in _OWN or name in LAYOUT:
            value: Scalar | None = getattr(self if name in _OWN else self.layout, name)
            return None if name in self.unknown else value
        return self.settings.get(name)


_OWN = frozenset({"workload", "platform", "network", "storage", "io", "twin"})
"""The settings that are fields of a case by the same name."""


class Run(msgspec.Struct, frozen=True, order=True):
    """Repeat number `block` of a case. Blocks count from 1; block 0 and below are warm-up."""

    block: Ordinal
    case: CaseId


class Pass(NamedTuple):
    """One pass over the cases of a block: the attempts that ran together. Passes sort by time.

    `part` distinguishes what ran before and after an interruption of the pass, such as a night (see
    analysis.interrupted_blocks).
    """

    session: int
    block: int
    part: int = 0
