"""Launcher `mpich`: MPICH 3.4 and later (device ch4), over UCX or libfabric, depending on its build."""

from __future__ import annotations

from tare.core.case import Binding, Layout
from tare.core.launch import Invocation, Placement
from tare.core.site import Network
from tare.plugins.launchers.hydra import hydra_command
from tare.plugins.launchers.placing import Fabric, fabric_of
from tare.plugins.launchers.transport_verbosity import ask_mpich


class Mpich:
    """Starts ranks with MPICH's mpiexec.hydra."""

    name = "mpich"

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return the command that starts `program` (see core.launch.Launcher)."""
        network = network_environment(placement.network) if placement.network else {}
        return hydra_command(
            self.name,
            program,
            placement,
            own=ask_mpich(placement) | network,
            options=["-bind-to", _binding(placement.layout)],
            agent_options_variable="HYDRA_LAUNCHER_EXTRA_ARGS",
        )


def _binding(layout: Layout) -> str:
    return f"core:{layout.threads}" if layout.binding is Binding.CORE else layout.binding.value


def network_environment(network: Network) -> dict[str, str]:
    """Return the variables of both layers, UCX and libfabric.

    The variables of the missing layer have no effect. Hydra's -iface does not select the data network. UCX
    uses RDMA devices' own names, such as mlx5_0:1; set one as UCX_NET_DEVICES in the network's options.
    """
    match fabric_of(network.provider):
        case Fabric.TCP:
            return {
                "FI_PROVIDER": "tcp",
                "FI_TCP_IFACE": network.interface,
                "UCX_NET_DEVICES": network.interface,
                "UCX_TLS": "tcp,self,sm",
            }
        case Fabric.UCX | Fabric.OPENIB:
            return {"FI_PROVIDER": "verbs", "FI_VERBS_IFACE": network.interface, "UCX_TLS": "ib,self,sm"}
        case Fabric.LIBFABRIC:
            return {"FI_PROVIDER": network.provider, "MPIR_CVAR_CH4_NETMOD": "ofi"}
