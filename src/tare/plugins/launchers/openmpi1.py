"""Launchers `openmpi1.6` and `openmpi1.8`: mpirun of Open MPI 1.3 to 1.6, and of 1.8.1 to 2.

Source: the manual pages and the sources of versions 1.5.4, 1.6.4, 1.8.3 and 2.1.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tare.core.case import Binding, Layout
from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.core.site import Network
from tare.plugins.launchers.openmpi import OpenMpi4
from tare.plugins.launchers.placing import Fabric, fabric_of


class OpenMpi18(OpenMpi4):
    """Starts ranks with mpirun of Open MPI 1.8.1 to 2, and uses InfiniBand and RoCE by btl openib."""

    name = "openmpi1.8"
    # Versions before 4 read no variable for it.
    _own_options: tuple[str, ...] = ("--allow-run-as-root",)
    _dialect = OpenMpi4._dialect._replace(shared_memory="sm", openib={})

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return the command that starts `program` (see core.launch.Launcher).

        These versions are not asked which transport they chose: their output differs from that of version 4.
        """
        network = placement.network
        if network is not None and network.provider == "verbs":
            network = msgspec.structs.replace(network, provider="openib")
        return super().launch(
            program, msgspec.structs.replace(placement, network=network, reports_folder=None)
        )

    def _slots(self, hosts: Sequence[str], layout: Layout) -> Iterator[str]:
        """Yield each host as often as it has slots; ``host:slots`` came with version 3."""
        return (host for host in hosts for _ in range(layout.ranks_per_node))

    def _network_options(self, network: Network | None) -> list[str]:
        if network is None:
            return []
        if network.provider == "psm":
            return ["--mca", "pml", "cm", "--mca", "mtl", "psm"]
        if fabric_of(network.provider) not in {Fabric.TCP, Fabric.OPENIB}:
            raise UsageError(
                f"{self.name} has neither UCX nor libfabric, which provider {network.provider!r} needs; "
                "give the network 'provider: verbs', psm or tcp"
            )
        return super()._network_options(network)


class OpenMpi16(OpenMpi18):
    """Starts ranks with mpirun of Open MPI 1.3 to 1.6, which had other options for mapping and binding."""

    name = "openmpi1.6"
    _own_options = ()
    _dialect = OpenMpi18._dialect._replace(
        each_daemon=(),  # mpirun starts them all, unless plm_rsh_tree_spawn is set
        stays_away=("--mca", "opal_if_do_not_resolve", "1"),
    )

    def _mapping(self, layout: Layout) -> list[str]:
        options = ["-npernode", str(layout.ranks_per_node), f"-bind-to-{layout.binding.value}"]
        if layout.binding is Binding.CORE and layout.threads > 1:
            options += ["-cpus-per-proc", str(layout.threads)]
        return options
