"""What all launchers take from a placement: checked hosts, the agent and the environment."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping

from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.core.site import Network

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UCX_PROVIDERS = frozenset({"ucx", "mlx", "verbs"})


class Fabric(enum.Enum):
    """The communication layer that an MPI must use for the data."""

    TCP = enum.auto()
    UCX = enum.auto()
    OPENIB = enum.auto()
    """InfiniBand and RoCE past the kernel by Open MPI's own transport, which it had up to version 4."""
    LIBFABRIC = enum.auto()


def fabric_of(provider: str) -> Fabric:
    """Return the layer for a provider: libfabric's, or `openib`.

    An MPI with both UCX and libfabric uses UCX for InfiniBand and RoCE.
    """
    if provider == "tcp":
        return Fabric.TCP
    if provider == "openib":
        return Fabric.OPENIB
    return Fabric.UCX if provider in _UCX_PROVIDERS else Fabric.LIBFABRIC


def device_environment(network: Network) -> dict[str, str]:
    """Return the variables that make libraries use the RDMA devices that the site names for `network`.

    UCX takes a device with its port, libfabric without (ucx_info -cf, fi_cxi(7), fi_efa(7), fi_verbs(7)).
    """
    if not network.devices:
        return {}
    names = ",".join(dict.fromkeys(one.partition(":")[0] for one in network.devices))
    match network.provider:
        case "cxi":
            return {"FI_CXI_DEVICE_NAME": names}
        case "efa":
            return {"FI_EFA_IFACE": names}
    if fabric_of(network.provider) is not Fabric.UCX:
        return {}
    ports = ",".join(one if ":" in one else f"{one}:1" for one in network.devices)
    found = {"UCX_NET_DEVICES": ports}
    return found if "," in names else {**found, "FI_VERBS_DEVICE_NAME": names}


def executable(placement: Placement, name: str) -> str:
    """Return the path of `name` in the platform's MPI.

    Without a prefix, return `name`, to be found in PATH.
    """
    prefix = placement.platform.prefix
    return f"{prefix.rstrip('/')}/bin/{name}" if prefix else name


def library_folder(placement: Placement) -> str | None:
    """Return the folder of the libraries of the platform's MPI. Return None if its prefix is not known."""
    prefix = placement.platform.prefix
    return f"{prefix.rstrip('/')}/lib" if prefix else None


def remote_hosts(launcher: str, placement: Placement) -> tuple[str, ...]:
    """Return the hosts to name to the MPI.

    None are needed if all ranks start on this machine, or if a batch system or a file gives the hosts. Raises
    UsageError if there are too few, or if one has a name that no MPI's host list can hold.
    """
    hosts, layout = placement.hosts, placement.layout
    if placement.is_allocated or placement.hostfile:
        return ()
    if len(hosts) < layout.nodes:
        raise UsageError(
            f"{launcher}: the case needs {count(layout.nodes, 'node')}, and there are {len(hosts)}; add "
            "nodes to the "
            "site file, or ask for fewer"
        )
    if layout.nodes == 1 and not placement.agent:
        return ()
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise UsageError(
                f"{launcher}: {host!r} cannot stand in a list of hosts; use letters, digits, '.' and '-'"
            )
    return hosts[: layout.nodes]


def plain_agent(launcher: str, agent: tuple[str, ...]) -> tuple[str, ...]:
    """Return `agent` if its words can be joined with blanks and split again, as MPIs do.

    Raises UsageError otherwise.
    """
    for word in agent:
        if not word or re.search(r"[\s'\"\\]", word):
            raise UsageError(
                f"{launcher} cannot pass on the agent's word {word!r}; write the agent as a small script "
                "without blanks and quotes in its path, and name that"
            )
    return agent


def rank_environment(
    launcher: str, program: Invocation, placement: Placement, own: Mapping[str, str]
) -> dict[str, str]:
    """Return every rank's environment: the launcher's `own` variables, the network's options, the program's.

    Later ones win, except that the MPI's libraries always come after the program's own. Sorted by name.
    Raises UsageError for names and values that no environment can hold.
    """
    network = placement.network
    options = network.options.get(launcher, {}) if network else {}
    env = {
        "OMP_NUM_THREADS": str(placement.layout.threads),
        **(device_environment(network) if network else {}),
        **own,
        **options,
        **placement.platform.env,
        **program.env,
    }
    libraries = library_folder(placement)
    if libraries:
        before = env.get("LD_LIBRARY_PATH")
        env["LD_LIBRARY_PATH"] = f"{before}:{libraries}" if before else libraries
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise UsageError(
                f"{launcher}: no environment can hold {name!r}={value!r}; mend the env of the platform, "
                "network or workload"
            )
    return dict(sorted(env.items()))
