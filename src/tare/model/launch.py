"""From a rank layout to a command line: what launchers and runtimes take and give."""

from __future__ import annotations

from typing import Protocol

import msgspec

from tare.model.case import Layout
from tare.model.site import Network, Platform


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the environment variables that it needs on top of those it inherits."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where the ranks of one stage start.

    `hosts` are as many as the layout has nodes; none where `is_allocated`, when a batch system has chosen
    them by the time that the command runs, and the launcher asks it. `agent` is the command that starts
    another on a host (see Site). `network` is the one that must carry the data; None leaves the choice to
    the MPI.
    """

    hosts: tuple[str, ...]
    layout: Layout
    platform: Platform
    network: Network | None = None
    network_name: str | None = None
    agent: tuple[str, ...] = ()
    management: tuple[str, ...] = ()
    slots_per_node: int = 1
    is_allocated: bool = False


class Launcher(Protocol):
    """How ranks start: one MPI's own way to say layout, binding, network and environment. Pure."""

    @property
    def name(self) -> str:
        """Its name in a site file."""
        ...

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return the command that starts `program` on every rank of `placement`.

        Raises UsageError when this launcher cannot do what the placement asks.
        """
        ...


class Runtime(Protocol):
    """What wraps a rank: nothing, or a container. Pure."""

    @property
    def name(self) -> str:
        """Its name in a site file."""
        ...

    def wrap(self, program: Invocation, platform: Platform) -> Invocation:
        """Return `program` as it must be started inside this runtime."""
        ...
