"""Launchers `openmpi4` and `openmpi5`: Open MPI's mpirun (mpirun(1), ompi_info --all)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tare.core.case import Binding, Layout
from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.core.site import Network
from tare.plugins.launchers.placing import (
    Fabric,
    executable,
    fabric_of,
    plain_agent,
    rank_environment,
    remote_hosts,
)
from tare.plugins.launchers.transport_verbosity import ask_openmpi

_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""Containers and labs run as root. Whoever builds the container decides whether that is wise."""


_ALLOW_OPENIB = {"btl_openib_allow_ib": "1"}
"""Without it, version 4 leaves InfiniBand to UCX. Versions before know no such parameter."""


class Dialect(NamedTuple):
    """Names that differ between versions of Open MPI; version 5 starts its ranks with PRRTE."""

    name_in_usr: str
    start_option: str
    agent: str
    each_daemon: tuple[str, ...]
    """Without them, daemons start each other, and the agent must work on the hosts too."""
    management: str
    shared_memory: str
    openib: dict[str, str] | None
    """What btl openib needs beside its devices; None for versions without it."""
    stays_away: tuple[str, ...]
    """Options that prevent mpirun from running the ranks of a host with this host's address here."""


class OpenMpi4:
    """Starts ranks with mpirun of Open MPI 4 (ORTE)."""

    name = "openmpi4"
    _own_options: tuple[str, ...] = ()
    _dialect = Dialect(
        "orterun",
        "--mca",
        "plm_rsh_agent",
        ("--mca", "plm_rsh_no_tree_spawn", "1"),
        "oob_tcp_if_include",
        "vader",
        openib=_ALLOW_OPENIB,
        stays_away=("--mca", "if_base_do_not_resolve", "1"),
    )

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return the command that starts `program` (see core.launch.Launcher).

        Variables are passed by name (``-x NAME``) and take their values from mpirun's own environment. It may
        hold values that Open MPI's command line cannot.
        """
        layout, dialect = placement.layout, self._dialect
        own = ask_openmpi(placement) | _network_env(placement.network)
        env = rank_environment(self.name, program, placement, own)
        hosts = remote_hosts(self.name, placement)
        argv = [executable(placement, self._program(placement))]
        if placement.platform.prefix:
            argv += ["--prefix", placement.platform.prefix]
        argv += self._start_options(placement)
        if placement.hostfile:
            # Needed: Open MPI 5 ignores the MPI Operator's variable for it, and starts all ranks here.
            argv += ["--hostfile", placement.hostfile]
            if placement.network is not None and placement.network.pod.is_host:
                # There a launcher shares its address with the worker on its node, but not the CPUs.
                argv += dialect.stays_away
        elif not placement.is_allocated:
            argv += ["-H", ",".join(self._slots(hosts or ("localhost",), layout))]
        argv += self._mapping(layout)
        argv += self._network_options(placement.network)
        if layout.ranks_per_node > placement.slots_per_node:
            # Ranks that wait for each other on one core must not spin (4192 µs instead of 82 in an alltoall).
            argv += ["--mca", "mpi_yield_when_idle", "1"]
        for name in env:
            argv += ["-x", name]
        argv += [*self._own_options, "-n", str(layout.ranks), *program.argv]
        return Invocation(argv=tuple(argv), env=env | _AS_ROOT)

    def _program(self, placement: Placement) -> str:
        """Return the name of mpirun. In /usr, mpirun may be another MPI's (Debian's update-alternatives)."""
        return self._dialect.name_in_usr if placement.platform.prefix == "/usr" else "mpirun"

    def _start_options(self, placement: Placement) -> list[str]:
        """Return the options for starting daemons on other hosts and for the interfaces that they use."""
        dialect = self._dialect
        options: list[str] = []
        if placement.agent:
            agent = " ".join(plain_agent(self.name, placement.agent))
            if ":" in agent:
                raise UsageError(
                    f"{self.name} takes ':' in {agent!r} for the end of the agent; write the agent as a "
                    "small script without ':' in its path, and name that"
                )
            options += [dialect.start_option, dialect.agent, agent, *dialect.each_daemon]
        if placement.management:
            options += [dialect.start_option, dialect.management, ",".join(placement.management)]
        return options

    def _slots(self, hosts: Sequence[str], layout: Layout) -> Iterator[str]:
        """Yield the hosts with their slots, as -H takes them."""
        return (f"{host}:{layout.ranks_per_node}" for host in hosts)

    def _mapping(self, layout: Layout) -> list[str]:
        """Return the options for mapping and binding.

        Only with core binding can the mapping give threads their own cores: otherwise mpirun fails.
        """
        mapping = f"ppr:{layout.ranks_per_node}:node"
        if layout.binding is Binding.CORE and layout.threads > 1:
            mapping += f":PE={layout.threads}"
        return ["--map-by", mapping, "--bind-to", layout.binding.value]

    def _network_options(self, network: Network | None) -> list[str]:
        """Return the options that select `network`. Raises UsageError if this version lacks its transport."""
        if network is None:
            return []
        options = _mca(network, self._dialect.shared_memory)
        if fabric_of(network.provider) is Fabric.OPENIB:
            if self._dialect.openib is None:
                raise UsageError(f"{self.name} has no btl openib; give the network 'provider: verbs'")
            options |= self._dialect.openib
        return [word for name, value in options.items() for word in ("--mca", name, value)]


class OpenMpi5(OpenMpi4):
    """Starts ranks with mpirun of Open MPI 5 (PRRTE)."""

    name = "openmpi5"
    # Without it, the first rank waits for ever on an input that has already ended.
    _own_options = ("--stdin", "none")
    _dialect = Dialect(
        "mpirun",
        "--prtemca",
        "plm_ssh_agent",
        ("--prtemca", "plm_ssh_no_tree_spawn", "1"),
        "prte_if_include",
        "sm",
        openib=None,
        stays_away=(),
    )


def _mca(network: Network, shared_memory: str = "sm") -> dict[str, str]:
    """Return the MCA parameters that select `network`."""
    match fabric_of(network.provider):
        case Fabric.TCP:
            return {
                "pml": "ob1",
                "btl": f"tcp,self,{shared_memory}",
                "btl_tcp_if_include": network.interface,
            }
        case Fabric.OPENIB:
            devices = {"btl_openib_if_include": ",".join(network.devices)} if network.devices else {}
            return {"pml": "ob1", "btl": f"openib,self,{shared_memory}", **devices}
        case Fabric.UCX:
            return {"pml": "ucx"}
        case Fabric.LIBFABRIC:
            return {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": network.provider}


def network_environment(network: Network) -> dict[str, str]:
    """Return the variables that select `network` for Open MPI when there is no mpirun command line.

    Shared memory has had several names (vader, sm), so the other transports are excluded instead.
    """
    options = _mca(network)
    match fabric_of(network.provider):
        case Fabric.TCP:
            options["btl"] = "^openib,uct,usnic"
        case Fabric.OPENIB:
            options |= {"btl": "^tcp,uct,usnic"} | _ALLOW_OPENIB
    return {f"OMPI_MCA_{name}": value for name, value in options.items()} | _network_env(network)


def _network_env(network: Network | None) -> dict[str, str]:
    """Return UCX's transports for InfiniBand and RoCE. Set its device in the network's options."""
    if network is None or network.provider != "verbs":
        return {}
    return {"UCX_TLS": "ib,self,sm"}
