"""Launcher `srun`: Slurm starts the ranks, over the PMI that their MPI speaks (srun(1), mpi.conf(5))."""

from __future__ import annotations

from tare.core.case import Binding
from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.core.site import Network
from tare.plugins.launchers import intelmpi, mpich, openmpi
from tare.plugins.launchers.placing import rank_environment
from tare.plugins.launchers.transport_verbosity import ask_mpich, ask_openmpi

_BIND = {Binding.NONE: "none", Binding.CORE: "cores", Binding.SOCKET: "sockets"}


class Srun:
    """Starts ranks as one job step. The site says by `slurm: {mpi: …}` which PMI the MPI speaks.

    An MPI built without it starts as that many programs of one rank each: `tare doctor --site` finds out.
    """

    name = "srun"

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return the command that starts `program` (see core.launch.Launcher)."""
        if not placement.is_allocated or placement.platform.options.allocator != "slurm":
            raise UsageError("launcher 'srun' needs an allocation; give the platform 'backend: slurm'")
        layout, pmi = placement.layout, placement.platform.options.pmi
        argv = ["srun"]
        if pmi:
            argv.append(f"--mpi={pmi}")
        argv += [f"--nodes={layout.nodes}", f"--ntasks={layout.ranks}"]
        argv += [f"--ntasks-per-node={layout.ranks_per_node}", f"--cpus-per-task={layout.threads}"]
        argv += [f"--cpu-bind={_BIND[layout.binding]}", "--distribution=block", "--kill-on-bad-exit=1"]
        argv += program.argv
        own = ask_mpich(placement) | ask_openmpi(placement)
        own |= _network(placement.network) if placement.network else {}
        return Invocation(argv=tuple(argv), env=rank_environment(self.name, program, placement, own))


def _network(network: Network) -> dict[str, str]:
    """Return the variables of every MPI that srun may start: each reads its own and no other's."""
    return (
        mpich.network_environment(network)
        | intelmpi.network_environment(network)
        | openmpi.network_environment(network)
    )
