"""`tare init` as its users call it: on a machine with nothing, and on a login node of a real Slurm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare, standing_lab
from cli.init.login_node import on_login_node
from tare.config import load_site
from tare.core.attempt import State
from tare.lab import Lab, accounting, slurm
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.storage.campaign import read_campaign

_NOT_HERE = ("mpi", "orte", "prte", "sinfo", "srun", "scontrol", "qstat", "qconf", "lsid", "flux", "kubectl")


SPEC = "nodes: 2\nnetworks: {fast: {kind: bridge}, slow: {kind: bridge}}\n"


@pytest.fixture
def bare_machine(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a machine without MPI and batch system; its programs are links."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in (Path("/usr/bin"), Path("/bin")):
        for one in folder.iterdir():
            if not one.name.startswith(_NOT_HERE) and not (programs / one.name).is_symlink():
                (programs / one.name).symlink_to(one)
    empty = tmp_path / "empty"
    empty.mkdir()
    return {"PATH": str(programs), "TARE_MPI": str(empty), "KUBECONFIG": str(empty / "none")}


def test_a_machine_with_nothing_gets_a_site_and_a_study_that_run(
    tare: Tare, tmp_path: Path, bare_machine: dict[str, str]
) -> None:
    done = tare("init", "here", "--yes", env=bare_machine)
    assert done.returncode == 0, done.stdout + done.stderr
    site = load_site(str(tmp_path / "here/site.yaml"))
    assert (site.nodes, list(site.platforms)) == (("localhost",), ["bare"])
    assert "tare run first.yaml" in done.stdout
    ran = tare("run", "here/first.yaml", "--out", "c", "--no-boost", env=bare_machine)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {one.state for one in read_campaign(tmp_path / "c").attempts} == {State.DONE}


def test_the_next_command_is_one_that_a_shell_takes(
    tare: Tare, tmp_path: Path, bare_machine: dict[str, str]
) -> None:
    done = tare("init", "a b's $(touch harm)", "--yes", env=bare_machine)
    assert done.returncode == 0, done.stdout + done.stderr
    within, _, command = done.stdout.partition("next: ")[2].splitlines()[0].partition(" && ")
    assert command == "tare plan first.yaml --show"
    subprocess.run(["sh", "-c", f"{within} && test -f first.yaml"], cwd=tmp_path, check=True)
    assert not (tmp_path / "harm").exists()


def test_no_file_is_overwritten_unless_it_is_forced(
    tare: Tare, tmp_path: Path, bare_machine: dict[str, str]
) -> None:
    (tmp_path / "first.yaml").write_text("mine")
    done = tare("init", "--yes", env=bare_machine)
    assert done.returncode == 2
    assert "first.yaml is there already; name another folder, or replace it with --force" in done.stderr
    assert (tmp_path / "first.yaml").read_text() == "mine"
    assert not (tmp_path / "site.yaml").exists()
    kept = tmp_path / "kept"
    kept.write_text("mine")
    (tmp_path / "site.yaml").symlink_to(kept)
    done = tare("init", "--yes", "--force", "--json", env=bare_machine)
    assert done.returncode == 0, done.stdout + done.stderr
    assert kept.read_text() == "mine", "a link is replaced, not followed"
    found = json.loads(done.stdout)
    assert (found["schema"], found["files"]) == ("tare.init/1", ["site.yaml", "first.yaml"])
    assert found["found"]["nodes"][0]["cores"] >= 1


def test_a_file_that_a_quota_cuts_off_is_not_in_the_way_of_the_next_call(
    tmp_path: Path, bare_machine: dict[str, str]
) -> None:
    command = ["prlimit", "--fsize=300", TARE, "init", "here", "--yes"]
    env = {**os.environ, **bare_machine}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "File too large" in done.stderr
    assert not (tmp_path / "here").exists()


def test_an_interrupt_leaves_no_empty_folder(tmp_path: Path, bare_machine: dict[str, str]) -> None:
    """The double stands for a batch system that does not answer, while the user presses Ctrl-C."""
    sign = tmp_path / "asked"
    silent = Path(bare_machine["PATH"]) / "qstat"
    silent.write_text(f"#!/bin/sh\ntouch {sign}\nexec sleep 60\n")
    silent.chmod(0o755)
    command = [TARE, "init", "new/er", "--yes"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | bare_machine, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        while not sign.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (tmp_path / "new").exists()


def test_hosts_that_are_no_names_are_refused(tare_here: Tare) -> None:
    for hosts in ("-oProxyCommand=x", "n1,$(reboot)", "n[2-1]"):
        done = tare_here("init", f"--hosts={hosts}")
        assert done.returncode == 2
        assert "--hosts" in done.stderr


@pytest.fixture
def login_node(tmp_path: Path) -> Iterator[Lab]:
    """Have a lab with Slurm and two networks, whose first node is as a login node."""
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons need root")
    if slurm.missing():
        pytest.skip(f"no Slurm here; {slurm.CURE}")
    if not Path("/usr/bin/mpicc").exists():
        pytest.skip("no Open MPI of the distribution here; apt install libopenmpi-dev")
    (tmp_path / "lab.yaml").write_text(SPEC)
    with standing_lab("--spec", tmp_path / "lab.yaml", "--with", "slurm") as lab:
        yield lab


@pytest.mark.lab
@pytest.mark.slow
def test_on_a_login_node_of_slurm_the_written_study_runs_over_both_networks_without_an_edit(
    login_node: Lab, tmp_path: Path
) -> None:
    def tare(*words: str) -> str:
        done = on_login_node(login_node, tmp_path, TARE, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    out = tare("init", "venus", "--yes")
    assert "1 job of seconds runs on 2 nodes, for 5 minutes at most" in out, "the job is announced"
    assert "each on 2 nodes, for 3 minutes at most" in out, "and those that try platforms"
    site = load_site(str(tmp_path / "venus/site.yaml"))
    assert {name: one.address for name, one in site.networks.items()} == {
        "fast": "{node}.fast",
        "slow": "{node}.slow",
    }
    assert site.management == ("mgmt0",)
    assert [one for one in site.platforms if one.endswith("-srun")], "Open MPI starts by srun, too"
    tare("run", "venus/first.yaml", "--out", "c", "--no-boost")
    attempts = read_campaign(tmp_path / "c").attempts
    assert {one.state for one in attempts} == {State.DONE}
    assert all("needed" in one.transport_evidence for one in attempts)


@pytest.mark.lab
def test_without_jobs_nothing_is_started_on_compute_nodes(login_node: Lab, tmp_path: Path) -> None:
    done = on_login_node(login_node, tmp_path, TARE, "init", "dry", "--yes", "--no-jobs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no job was run" in (tmp_path / "dry/site.yaml").read_text()
    jobs = on_login_node(login_node, tmp_path, "squeue", "--states=all", "--noheader")
    assert (jobs.returncode, jobs.stdout) == (0, "")


ENFORCED = """
sacctmgr --immediate add qos bench
sacctmgr --immediate add account home
sacctmgr --immediate add account proj42
sacctmgr --immediate add user root account=home
sacctmgr --immediate add user root account=proj42
sacctmgr --immediate modify user root set qos=normal,bench
echo AccountingStorageEnforce=associations,qos >>"$SLURM_CONF"
kill $(cat "${SLURM_CONF%/*}/slurmctld.pid")
while [ -e "${SLURM_CONF%/*}/slurmctld.pid" ]; do sleep 0.1; done
PATH=$PATH:/usr/sbin slurmctld -f "$SLURM_CONF"
until scontrol update PartitionName=lab AllowAccounts=proj42 AllowQos=bench; do sleep 0.2; done
"""
"""What an administrator does so that a partition takes one account and one QoS, and not the default ones."""


@pytest.mark.lab
@pytest.mark.skipif(bool(accounting.missing()), reason=f"no accounting here; {accounting.CURE}")
@pytest.mark.slow
def test_what_a_partition_demands_is_in_the_job_and_in_the_written_site(
    login_node: Lab, tmp_path: Path
) -> None:
    done = on_login_node(login_node, tmp_path, "timeout", "120", "sh", "-ec", ENFORCED)
    assert done.returncode == 0, done.stdout + done.stderr
    refused = on_login_node(login_node, tmp_path, "srun", "--nodes=1", "--immediate=60", "true")
    assert refused.returncode != 0, "Slurm takes a job that names neither"
    done = on_login_node(login_node, tmp_path, TARE, "init", "venus", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--partition=lab --account=proj42 --qos=bench" in done.stdout
    site = load_site(str(tmp_path / "venus/site.yaml"))
    options = site.platforms["bare"].options
    assert isinstance(options, SlurmOptions)
    assert (options.account, options.qos) == ("proj42", "bench")
    text = " ".join((tmp_path / "venus/site.yaml").read_text().replace("\n#", " ").split())
    assert "account proj42: partition lab has AllowAccounts=proj42 (scontrol show partition)" in text
    assert "qos bench: partition lab has AllowQos=bench (scontrol show partition)" in text
    assert "These started two ranks of one program" in text
    done = on_login_node(login_node, tmp_path, TARE, "init", "no", "--yes", "--qos", "urgent")
    assert done.returncode == 2
    assert "no QoS 'urgent'; --qos takes one of bench, normal" in done.stderr
