"""From a rank layout to a command line: what launchers and runtimes take and give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from tare.core.case import Layout
from tare.core.entry_points import installed, load
from tare.core.site import Network, Platform

CONTAINER_LABEL = "tare.job"
"""The label of every container, with the mark that its processes carry too."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the environment variables that it needs on top of those it inherits."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where the ranks of one stage start.

    `hosts` are as many as the layout has nodes; none where `is_allocated`, when a batch system has chosen
    them by the time that the command runs, and the launcher asks it. `agent` is the command that starts
    another on a host (see Site). `network` is the one that must carry the data; None leaves the choice to
    the MPI. `hostfile` names the file that lists the hosts, one a line, where they are known by the time that
    the command runs; there are then no `hosts`. `words` is the folder into which the MPI's libraries write
    which transport they chose, or else they say it on standard error; None where they are not asked.
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
    hostfile: str | None = None
    words: str | None = None


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

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` as it must be started inside this runtime, a container a rank.

        It sees its working folder `folder` at the same path. Raises UsageError when this runtime cannot do
        what the platform asks.
        """
        ...


def takes_container(runtime: str) -> bool:
    """Return whether a platform with this runtime says what containers are made of.

    All do but those that say ``takes_container = False``. One that nobody knows is not asked: it is a fault.
    """
    plugin = installed("tare.runtimes").get(runtime)
    return plugin is None or bool(getattr(load(plugin), "takes_container", True))


@runtime_checkable
class Engine(Runtime, Protocol):
    """A runtime whose containers may stay while commands come and go in them: podman, docker. Pure."""

    @property
    def agent(self) -> Path:
        """The command that starts another in the container of a host, called from a container as ssh is."""
        ...

    def start(self, platform: Platform, container: str, binds: Sequence[str]) -> Invocation:
        """Return what starts the long-lived container of that name, with further `binds`, and returns."""
        ...

    def enter(self, program: Invocation, platform: Platform, container: str, folder: str) -> Invocation:
        """Return what runs `program` in that container, in `folder`."""
        ...

    def agent_environment(
        self, platform: Platform, prefix: str, folder: str, agent: Sequence[str]
    ) -> dict[str, str]:
        """Return the variables by which `agent` finds the containers, named `prefix` and the host's name.

        The site's own `agent` gets it to the host.
        """
        ...

    def find(self, platform: Platform) -> tuple[str, ...]:
        """Return what prints a line for each container of Tare, running or not: its id and its labels.

        One of these is CONTAINER_LABEL.
        """
        ...

    def remove(self, platform: Platform, containers: Sequence[str]) -> tuple[str, ...]:
        """Return what ends and removes containers by their names or ids; it may fail where one is gone."""
        ...

    def identify(self, platform: Platform) -> tuple[str, ...]:
        """Return what prints the digest of the platform's image; nothing where it has none."""
        ...
