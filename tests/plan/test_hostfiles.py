"""How ranks start on the nodes of a job that their MPI cannot ask its batch system for."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.doubles import DoubleWorkload
from tare.core.backend_options import QueueOptions
from tare.core.case import Case, Layout
from tare.core.errors import UsageError
from tare.core.launch import Invocation
from tare.core.site import Platform, Site
from tare.core.workload import Stage
from tare.execution.compose import Composer
from tare.plugins import registry
from tare.plugins.backends.slurm.options import SlurmOptions


class SshOptions(QueueOptions, frozen=True, kw_only=True):
    """Options of a batch system that MPIs do not know, on whose nodes ranks start over an agent."""

    @property
    def agent(self) -> tuple[str, ...]:
        return ("/opt/batch/ssh",)


class GridOptions(QueueOptions, frozen=True, kw_only=True):
    """Options of one that MPIs know."""

    @property
    def allocator(self) -> str:
        return "sge"


def command(launcher: str, options: QueueOptions, n_nodes: int = 2) -> Invocation:
    platform = Platform(backend="batch", launcher=launcher, options=options)
    site = Site(name="here", nodes=("a", "b"), platforms={"queue": platform}, reports_placement=False)
    workloads = {"double": DoubleWorkload(stage_list=(Stage(argv=("solve",)),))}
    composer = Composer(site, workloads, registry.launcher, registry.runtime)
    layout = Layout(nodes=n_nodes, ranks=n_nodes)
    case = Case(id="0", workload="double", platform="queue", layout=layout)
    ((_, invocation),) = composer.compose(case, Path("/c/attempts/0/1.1"))
    return invocation


def test_open_mpi_reads_the_nodes_from_the_job_s_file_and_reaches_them_over_its_agent() -> None:
    argv = command("openmpi4", SshOptions()).argv
    assert argv[argv.index("--hostfile") + 1] == "/c/attempts/0/1.1/hostfile"
    assert "/opt/batch/ssh" in argv
    assert "-H" not in argv


def test_hydra_does_too() -> None:
    argv = command("mpich", SshOptions()).argv
    assert argv[argv.index("-f") + 1] == "/c/attempts/0/1.1/hostfile"
    assert argv[argv.index("-bootstrap-exec") + 1] == "/opt/batch/ssh"


def test_on_one_node_ranks_start_without_either() -> None:
    argv = command("mpich", SshOptions(), n_nodes=1).argv
    assert "-f" not in argv
    assert "/opt/batch/ssh" not in argv


def test_a_batch_system_that_mpis_know_is_named_to_hydra() -> None:
    argv = command("mpich", GridOptions()).argv
    assert argv[argv.index("-bootstrap") + 1] == "sge"
    assert "-f" not in argv


def test_srun_starts_ranks_in_slurm_alone() -> None:
    assert command("srun", SlurmOptions(mpi="pmix")).argv[:2] == ("srun", "--mpi=pmix")
    with pytest.raises(UsageError, match="give the platform 'backend: slurm'"):
        command("srun", GridOptions())
