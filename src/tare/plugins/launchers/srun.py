"""Launcher `srun`: Slurm starts the ranks, with the PMI that their MPI uses (srun(1), mpi.conf(5))."""

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
    """Starts ranks as one job step. The site sets the MPI's PMI by `slurm: {mpi: …}`.

    An MPI without this PMI starts as many programs of one rank each; `tare doctor --site` detects that.
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
        argv.append(f"--nodelist={{nodes:{layout.nodes}}}")  # the job names its first ones (batch/job.sh)
        argv += [f"--nodes={layout.nodes}", f"--ntasks={layout.ranks}"]
        argv += [f"--ntasks-per-node={layout.ranks_per_node}", f"--cpus-per-task={layout.threads}"]
        if threads := placement.platform.options.threads_per_core:
            argv.append(f"--threads-per-core={threads}")  # --cpus-per-task counts threads as CPUs
        argv.append("--mem=0")  # all that the job has; else as much as --cpus-per-task of its CPUs have
        argv += [f"--cpu-bind={_BIND[layout.binding]}", "--distribution=block", "--kill-on-bad-exit=1"]
        argv += program.argv
        own = ask_mpich(placement) | ask_openmpi(placement)
        own |= _network(placement.network) if placement.network else {}
        return Invocation(argv=tuple(argv), env=rank_environment(self.name, program, placement, own))


def _network(network: Network) -> dict[str, str]:
    """Return the variables of every MPI that srun may start. Each MPI reads only its own."""
    return (
        mpich.network_environment(network)
        | intelmpi.network_environment(network)
        | openmpi.network_environment(network)
    )
