"""What may run in a lab besides its nodes. From this list, `tare lab up --with` is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tare.core.errors import UsageError
from tare.lab import accounting, cluster, containers, docker, gridengine, slurm

if TYPE_CHECKING:
    from tare.lab.lab import Lab


class _Start(Protocol):
    def __call__(self, lab: Lab, /, *, is_complete: bool) -> str: ...


class Service(NamedTuple):
    """A batch system or a container engine of a lab.

    `start` starts it: if it `is_complete`, with everything that users of a standing lab may want, such as
    accounting and images. It returns what they should know about that. `environment` returns the variables by
    which programs find it in the lab of a folder. `is_extensible` means that `start` may be called again.

    `report` says that it is up, and `trial` is a command that shows it.
    """

    start: _Start
    environment: Callable[[Path], dict[str, str]]
    report: str
    trial: str
    is_extensible: bool = False


def service(name: str) -> Service:
    """Return the service of this name. Raises UsageError for a name that is not in SERVICES."""
    if name not in SERVICES:
        raise UsageError(f"the lab has no service {name!r}; it has {', '.join(SERVICES)}")
    return SERVICES[name]


def _start_slurm(lab: Lab, *, is_complete: bool) -> str:
    has_accounting = is_complete and not accounting.missing()
    management = lab.topology.fabrics[0]
    addresses = [port.address for port in management.ports if port.host in lab.nodes]
    slurm.bring_up(lab, lab.nodes, addresses, has_accounting=has_accounting)
    return "with accounting" if has_accounting else f"without accounting ({accounting.CURE})"


def _start_grid_engine(lab: Lab, *, is_complete: bool) -> str:
    gridengine.bring_up(lab, lab.nodes)
    return ""


def _start_containers(lab: Lab, *, is_complete: bool) -> str:
    containers.bring_up(lab, lab.nodes[0])
    return ""


def _start_cluster(lab: Lab, *, is_complete: bool) -> str:
    return cluster.bring_up(lab)


def _start_docker(lab: Lab, *, is_complete: bool) -> str:
    lab.add_docker(lab.nodes, docker.known_images() if is_complete else ())
    return ""


SERVICES: Mapping[str, Service] = {
    "slurm": Service(_start_slurm, slurm.environment, "Slurm is up", "sinfo"),
    "gridengine": Service(_start_grid_engine, gridengine.environment, "Grid Engine is up", "qhost"),
    "containers": Service(_start_containers, containers.environment, "Containers are up", "podman info"),
    "cluster": Service(_start_cluster, cluster.environment, "The cluster of containers is up", "hostname"),
    "docker": Service(
        _start_docker, docker.environment, "Docker is up on the nodes", "docker images", is_extensible=True
    ),
}
