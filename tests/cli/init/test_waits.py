"""Where all nodes of a real Slurm are taken, `tare init` and `tare doctor` say why they wait, and give up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import TARE, standing_lab
from cli.init.login_node import on_login_node
from tare.config import load_site
from tare.lab import Lab, slurm

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root"),
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}"),
]
SITE = """\
site: tare
nodes: ["n[1-2]"]
platforms:
  one: {backend: slurm, launcher: openmpi4, slurm: {partition: lab, exclusive: true}}
  other: {backend: slurm, launcher: srun, slurm: {partition: lab, exclusive: true, mpi: pmix}}
  urgent: {backend: slurm, launcher: none, slurm: {partition: urgent}}
"""


@pytest.fixture
def taken(tmp_path: Path) -> Iterator[Lab]:
    """Have a Slurm all of whose nodes another job has."""
    (tmp_path / "lab.yaml").write_text("nodes: 2\nnetworks: {fast: {kind: bridge}}\n")
    with standing_lab("--spec", tmp_path / "lab.yaml", "--with", "slurm") as lab:
        others = ["sbatch", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 600"]
        assert on_login_node(lab, tmp_path, *others).returncode == 0
        yield lab


def queue(lab: Lab, folder: Path) -> list[str]:
    return on_login_node(lab, folder, "squeue", "--noheader", "--format=%j %T").stdout.splitlines()


def test_init_gives_up_its_own_job_and_writes_what_it_knows(taken: Lab, tmp_path: Path) -> None:
    done = on_login_node(taken, tmp_path, TARE, "init", "venus", "--yes", "--wait", "9 s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "It is given up if it waits for 9 s (--wait)" in done.stdout
    assert "waits    the job on compute nodes: queued by Slurm: Resources" in done.stdout
    assert (
        "nothing is known of compute nodes: the job that asks them, which was waiting (Resources"
        in done.stdout
    )
    text = " ".join((tmp_path / "venus/site.yaml").read_text().replace("\n#", " ").split())
    assert (
        "Not known: networks, folders and MPIs of compute nodes, since the job that asks them, which" in text
    )
    site = load_site(str(tmp_path / "venus/site.yaml"))
    assert (site.nodes, list(site.platforms)) == (("n1", "n2"), ["bare"])
    assert queue(taken, tmp_path) == ["wrap RUNNING"]


def test_doctor_gives_up_its_own_job_and_does_not_wait_again_for_the_same_nodes(
    taken: Lab, tmp_path: Path
) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    done = on_login_node(taken, tmp_path, TARE, "doctor", "--site", "site.yaml", "--wait", "3 s")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert "waits    one: queued by Slurm: Resources; given up after 3 s (--wait)" in said
    (cancelled,) = (line for line in said if line.startswith("unknown  one: its job was cancelled after"))
    assert cancelled.endswith(" s: queued by Slurm: Resources")
    assert "unknown  other: not tried: a job that asks for the same nodes did not start within 3 s" in said
    assert "ok       urgent: starts programs without MPI" in said
    assert queue(taken, tmp_path) == ["wrap RUNNING"]


def test_an_interrupt_cancels_the_job_that_waits(taken: Lab, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    words = ["timeout", "--signal=INT", "12", TARE, "doctor", "--site", "site.yaml", "--platform", "one"]
    done = on_login_node(taken, tmp_path, *words)
    assert "waits    one: queued by Slurm: Resources; Ctrl-C cancels its job" in done.stdout
    assert queue(taken, tmp_path) == ["wrap RUNNING"]
