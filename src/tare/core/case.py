"""A case: one level of every factor, with its workload's parameters and rank layout."""

from __future__ import annotations

import enum
from typing import NamedTuple

import msgspec

from tare.core.software import Layers, settings_of
from tare.core.values import CaseId, LayoutCount, Ordinal, Scalar, Settings


class Binding(enum.StrEnum):
    """What a rank is bound to."""

    NONE = "none"
    CORE = "core"
    SOCKET = "socket"


_BINDINGS = {one: one.value for one in Binding}
"""What bindings are called; asking an enum for a value is slow in Python 3.11."""


LAYOUT = ("nodes", "ranks", "ranks_per_node", "threads")
"""The settings of a layout."""


class Layout(msgspec.Struct, frozen=True):
    """How ranks are placed on nodes: `ranks` in blocks of `ranks_per_node` on each node.

    `bind` is None where the binding is unknown, as for imported runs.
    """

    nodes: LayoutCount = 1
    ranks: LayoutCount = 1
    ranks_per_node: LayoutCount = 1
    threads: LayoutCount = 1
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
    def form(self) -> tuple[object, ...]:
        """Return what determines the case's settings, except its parameters; many cases have one form."""
        return (
            self.workload,
            self.platform,
            self.network,
            self.storage,
            self.io,
            self.layout,
            self.twin,
            bool(self.profile_of),
            self.unknown,
            self.software,
        )

    @property
    def settings(self) -> dict[str, Scalar]:
        """Return the case as one flat row of a table, without the settings that it lacks."""
        layout = self.layout
        known: dict[str, Scalar] = {"workload": self.workload, "platform": self.platform}
        if self.network is not None:
            known["network"] = self.network
        if self.storage is not None:
            known["storage"] = self.storage
        if self.io is not None:
            known["io"] = self.io
        known["nodes"] = layout.nodes
        known["ranks"] = layout.ranks
        known["ranks_per_node"] = layout.ranks_per_node
        known["threads"] = layout.threads
        if layout.bind is not None:
            known["bind"] = _BINDINGS[layout.bind]
        if self.twin is not None:
            known["twin"] = self.twin
        if self.profile_of:
            known["profiled"] = True
        for name in self.unknown:
            known.pop(name, None)
        if self.software:
            known.update(settings_of(self.software))
        known.update(self.parameters)
        return known

    def has(self, wanted: Settings) -> bool:
        """Return whether the case has every setting of `wanted`."""
        for name, value in wanted.items():  # noqa: SIM110  # all() of a generator takes three times as long
            if self.setting(name) != value:
                return False
        return True

    def setting(self, name: str) -> Scalar | None:
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
