"""What all launchers need of a placement: checked hosts, agent and environment."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping

from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.core.site import Network

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UCX_PROVIDERS = frozenset({"ucx", "mlx", "verbs"})


class Fabric(enum.Enum):
    """What must carry the data, as far as an MPI chooses its communication layer by it."""

    TCP = enum.auto()
    UCX = enum.auto()
    LIBFABRIC = enum.auto()


def fabric_of(provider: str) -> Fabric:
    """Return the layer for a libfabric provider: InfiniBand and RoCE are UCX's where an MPI has both."""
    if provider == "tcp":
        return Fabric.TCP
    return Fabric.UCX if provider in _UCX_PROVIDERS else Fabric.LIBFABRIC


def device_environment(network: Network) -> dict[str, str]:
    """Return the variables by which libraries take the RDMA devices that the site names for `network`.

    UCX wants a device with its port, libfabric without (ucx_info -cf, fi_cxi(7), fi_efa(7), fi_verbs(7)).
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
    """Return the path of `name` in the platform's MPI, or `name` itself, to be looked for in PATH."""
    prefix = placement.platform.prefix
    return f"{prefix.rstrip('/')}/bin/{name}" if prefix else name


def library_folder(placement: Placement) -> str | None:
    """Return where the libraries of the platform's MPI are, if it says where it is installed."""
    prefix = placement.platform.prefix
    return f"{prefix.rstrip('/')}/lib" if prefix else None


def remote_hosts(launcher: str, placement: Placement) -> tuple[str, ...]:
    """Return the hosts to name to the MPI: none when all ranks start here, or where a batch system or a
    file says.

    Raises UsageError when there are too few, or one has a name that no MPI's host list can hold.
    """
    hosts, layout = placement.hosts, placement.layout
    if placement.is_allocated or placement.hostfile:
        return ()
    if len(hosts) < layout.nodes:
        raise UsageError(
            f"{launcher}: the case needs {layout.nodes} nodes, and there are {len(hosts)}; add nodes to the "
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
    """Return `agent` if its words can be joined by blanks and split again, as MPIs do.

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
    """Return what every rank gets: the launcher's `own` variables, the network's options, the program's.

    Later ones win, except that the MPI's libraries are always found after the program's own. Sorted by
    name. Raises UsageError for what no environment can hold.
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
