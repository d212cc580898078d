"""`tare init` on nodes that ssh reaches: hosts that are named, and those of a job of a batch system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from backends.real_ssh import sshd_on_nodes
from cli.conftest import TARE, standing_lab
from cli.init.login_node import on_login_node
from cli.init.test_init_command import SPEC
from tare.config import load_site
from tare.core.attempt import State
from tare.core.site import Site
from tare.lab import Lab, gridengine
from tare.storage.campaign import read_campaign

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="sshd on nodes of the lab takes root"),
    pytest.mark.skipif(
        not Path("/usr/bin/mpicc").exists(),
        reason="no Open MPI of the distribution here; apt install libopenmpi-dev",
    ),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab of two nodes and two networks, without a batch system."""
    spec = tmp_path_factory.mktemp("lab") / "lab.yaml"
    spec.write_text(SPEC)
    with standing_lab("--spec", spec) as lab:
        yield lab


@pytest.fixture(scope="module")
def programs(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the script `ssh` that reaches the nodes; plain ssh does not."""
    with sshd_on_nodes(lab, tmp_path_factory.mktemp("ssh")) as programs:
        yield programs


def tare(lab: Lab, folder: Path, *words: str, **env: str) -> CompletedProcess[str]:
    own = [f"{name}={value}" for name, value in env.items()]
    done = on_login_node(lab, folder, "env", *own, TARE, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def path_with(programs: Path) -> str:
    return f"{programs}:{os.environ['PATH']}"


def site_in(folder: Path) -> tuple[Site, str]:
    """Return the site that was written there, and its text on one line."""
    text = (folder / "site.yaml").read_text()
    return load_site(str(folder / "site.yaml")), " ".join(text.replace("\n#", " ").split())


def n_connections(programs: Path) -> int:
    log = programs.parent / "sshd.log"
    return log.read_text().count("Accepted publickey") if log.exists() else 0


def runs_over_both_networks(lab: Lab, folder: Path, study: str, path: str) -> bool:
    once = (folder / study).read_text().replace("repeats: 5", "repeats: 1")
    (folder / study).write_text(once)
    tare(lab, folder, "run", study, "--out", "c", "--no-boost", PATH=path)
    attempts = read_campaign(folder / "c").attempts
    assert {one.state for one in attempts} == {State.DONE}
    return all("needed" in one.transport_evidence for one in attempts)


@pytest.mark.slow
def test_hosts_behind_a_script_named_ssh_get_a_site_whose_study_runs(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    path = path_with(programs)
    done = tare(lab, tmp_path, "init", "venus", "--hosts", "n[1-2]", "--yes", PATH=path)
    assert "a script of seconds runs on n1, n2" in done.stdout, "what runs there is announced"
    site, text = site_in(tmp_path / "venus")
    assert (site.nodes, site.agent) == (("n1", "n2"), (str(programs / "ssh"),))
    assert {name: one.address for name, one in site.networks.items()} == {
        "fast": "{node}.fast",
        "slow": "{node}.slow",
    }
    assert [one for one in site.platforms if one.startswith("openmpi")]
    assert "These started two ranks of one program" in text
    assert runs_over_both_networks(lab, tmp_path, "venus/first.yaml", os.environ["PATH"])


@pytest.mark.parametrize("words", [("--no-jobs", "--yes"), ()])
def test_hosts_are_not_reached_without_consent(
    words: tuple[str, ...], lab: Lab, programs: Path, tmp_path: Path
) -> None:
    before = n_connections(programs)
    tare(lab, tmp_path, "init", "--hosts", "n[1-2]", *words, PATH=path_with(programs))
    assert n_connections(programs) == before
    site, text = site_in(tmp_path)
    assert (site.nodes, dict(site.networks), list(site.platforms)) == (("n1", "n2"), {}, ["bare"])
    assert "not known, since no host was asked" in text
    assert "networks, folders and MPIs of n1, n2, since none was asked" in text


def test_within_a_job_the_site_is_of_its_nodes(lab: Lab, programs: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("n1\nn2\n")
    path = path_with(programs)
    job = {"PBS_JOBID": "7.lab", "PBS_NODEFILE": str(tmp_path / "nodes"), "NCPUS": "1"}
    done = tare(lab, tmp_path, "init", "in-job", "--yes", PATH=path, **job)
    assert "this is PBS job 7.lab, on n1, n2 ($PBS_NODEFILE)" in done.stdout
    site, text = site_in(tmp_path / "in-job")
    assert (site.nodes, site.slots_per_node) == (("n1", "n2"), 1)
    assert "$PBS_NODEFILE of PBS job 7.lab" in text
    assert "it holds while the job runs" in text
    assert "These started two ranks of one program" in text


def test_a_job_whose_nodes_ssh_does_not_reach_gets_a_site_of_this_machine_and_the_reason(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    (tmp_path / "nodes").write_text("n1\nn2\n")
    job = {"PBS_JOBID": "7.lab", "PBS_NODEFILE": str(tmp_path / "nodes")}
    tare(lab, tmp_path, "init", "--yes", **job)
    site, text = site_in(tmp_path)
    assert site.nodes == ("localhost",)
    assert "Not known: the nodes of PBS job 7.lab, since ssh reaches none of them: host n1 could not" in text


@pytest.mark.skipif(bool(gridengine.missing()), reason=f"no Grid Engine here; {gridengine.CURE}")
@pytest.mark.slow
def test_a_real_grid_engine_is_named_outside_of_its_jobs_and_its_nodes_are_the_site_within_one(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tmp_path / "lab.yaml").write_text(SPEC)
    with (
        standing_lab("--spec", tmp_path / "lab.yaml", "--with", "gridengine") as lab,
        sshd_on_nodes(lab, tmp_path_factory.mktemp("ssh")) as programs,
    ):
        done = tare(lab, tmp_path, "init", "outside", "--yes", "--no-jobs")
        assert "found    Grid Engine SGE 8.1.9: queues lab" in done.stdout
        _, text = site_in(tmp_path / "outside")
        assert "{parallel_environment: lab, slots_per_node: 8, in_flight: 1}" in text
        job = ["qrsh", "-now", "no", "-nostdin", "-V", "-cwd", "-pe", "lab", "16"]
        command = [*job, "env", f"PATH={path_with(programs)}", TARE, "init", "within", "--yes"]
        done = on_login_node(lab, tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "this is Grid Engine job " in done.stdout
        site, text = site_in(tmp_path / "within")
        assert sorted(site.nodes) == ["n1", "n2"]
        assert "$PE_HOSTFILE of Grid Engine job " in text
        assert "These started two ranks of one program" in text
