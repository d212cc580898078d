"""Launcher `intelmpi`: Intel MPI 2019 and later, over libfabric (Intel MPI Library Developer Reference)."""

from __future__ import annotations

from tare.core.case import Binding
from tare.core.launch import Invocation, Placement
from tare.core.site import Network
from tare.plugins.launchers.hydra import hydra_command
from tare.plugins.launchers.placing import library_folder
from tare.plugins.launchers.transport_verbosity import ask_intelmpi

_INTERFACE = {"tcp": "FI_TCP_IFACE", "verbs": "FI_VERBS_IFACE", "sockets": "FI_SOCKETS_IFACE"}
"""Variables in which libfabric's providers read the interface (fi_tcp(7), fi_verbs(7), fi_sockets(7))."""

_PROVIDER = {"ucx": "mlx", "openib": "verbs"}
"""Providers that have another name in Intel MPI: it reaches UCX through mlx."""

_PIN: dict[Binding, dict[str, str]] = {
    Binding.NONE: {"I_MPI_PIN": "0"},
    # A domain of OMP_NUM_THREADS cores; without the cell, hardware threads would count as cores.
    Binding.CORE: {"I_MPI_PIN": "1", "I_MPI_PIN_CELL": "core", "I_MPI_PIN_DOMAIN": "omp"},
    Binding.SOCKET: {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "socket"},
}


class IntelMpi:
    """Starts ranks with Intel MPI's mpiexec.hydra."""

    name = "intelmpi"

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return the command that starts `program` (see core.launch.Launcher)."""
        own = _PIN[placement.layout.binding] | _library(placement) | ask_intelmpi(placement)
        if placement.network is not None:
            own |= network_environment(placement.network)
        if placement.layout.ranks_per_node > placement.slots_per_node:
            # Ranks that wait for each other on one core must not spin (an allreduce: 6 ms, or 75 µs).
            own["I_MPI_WAIT_MODE"] = "1"
        return hydra_command(
            self.name,
            program,
            placement,
            own=own,
            agent_options_variable="I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
        )


def _library(placement: Placement) -> dict[str, str]:
    libraries, prefix = library_folder(placement), placement.platform.prefix
    if not libraries or not prefix:
        return {}
    return {"I_MPI_ROOT": prefix, "FI_PROVIDER_PATH": libraries}


def network_environment(network: Network) -> dict[str, str]:
    """Return the variables that make Intel MPI and libfabric use `network`."""
    provider = _PROVIDER.get(network.provider, network.provider)
    env = {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": provider}
    interface = _INTERFACE.get(provider)
    return env | {interface: network.interface} if interface else env
