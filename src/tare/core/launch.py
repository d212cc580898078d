"""The protocols of launchers and runtimes, which turn a rank layout into a command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from tare.core.case import Layout
from tare.core.entry_points import installed, load
from tare.core.site import Network, Platform

CONTAINER_LABEL = "tare.job"
"""The name of a label of every container; its value is the job label, which the processes carry too."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the environment variables that it needs in addition to those it inherits."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where the ranks of one stage start.

    - `hosts` are as many as the layout has nodes. There are none where `is_allocated`: a batch system then
      chooses them before the command runs, and the launcher asks it.
    - `agent` is the command that starts another on a host (see Site).
    - `network` is the one that must carry the data; None leaves the choice to the MPI.
    - `hostfile` names a file that lists the hosts, one on each line, where they are known only when the
      command runs; there are then no `hosts`.
    - `reports_folder` is the folder into which the MPI's libraries write their transport reports, if they do
      not print them on standard error; None if they are not asked to report.
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
    reports_folder: str | None = None


class Launcher(Protocol):
    """How ranks start: one MPI's way to express layout, binding, network and environment. Pure."""

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
        """Return `program` as it must be started inside this runtime, with one container for each rank.

        The container shows its working folder `folder` at the same path. Raises UsageError when this runtime
        cannot do what the platform asks.
        """
        ...


def takes_container(runtime: str) -> bool:
    """Return whether a platform with this runtime describes its containers.

    That is true for all runtimes except those with ``takes_container = False``. It is also true for an
    unknown runtime, which is a fault that is reported elsewhere.
    """
    plugin = installed("tare.runtimes").get(runtime)
    return plugin is None or bool(getattr(load(plugin), "takes_container", True))


@runtime_checkable
class Engine(Runtime, Protocol):
    """A runtime whose containers can outlive the commands in them: podman, docker. Pure."""

    @property
    def agent(self) -> Path:
        """Return the command that starts another in a host's container, called from a container as ssh is."""
        ...

    def start(self, platform: Platform, container: str, binds: Sequence[str]) -> Invocation:
        """Return the command that starts the long-lived container `container` with `binds`, and returns."""
        ...

    def enter(self, program: Invocation, platform: Platform, container: str, folder: str) -> Invocation:
        """Return the command that runs `program` in that container, in `folder`."""
        ...

    def agent_environment(
        self, platform: Platform, prefix: str, folder: str, agent: Sequence[str]
    ) -> dict[str, str]:
        """Return the variables by which `agent` finds the containers, named `prefix` and the host's name.

        The site's own `agent` is the way to the host.
        """
        ...

    def find(self, platform: Platform) -> tuple[str, ...]:
        """Return the command that prints a line for each container of Tare, running or not: id and labels.

        One of the labels is CONTAINER_LABEL.
        """
        ...

    def remove(self, platform: Platform, containers: Sequence[str]) -> tuple[str, ...]:
        """Return the command that ends and removes containers by name or id; it may fail if one is gone."""
        ...

    def identify(self, platform: Platform) -> tuple[str, ...]:
        """Return the command that prints the digest of the platform's image; nothing if it has none."""
        ...
