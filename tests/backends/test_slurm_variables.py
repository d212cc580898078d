"""What the shell of a user sets for Slurm's commands. The double stands for the programs themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.core.case import Layout
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.core.site import Platform
from tare.plugins.backends.batch.queue import request_of
from tare.plugins.backends.slurm.commands import Slurm
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.backends.slurm.script import render

OF_A_USER = {
    "SBATCH_PARTITION": "gpu",
    "SBATCH_TIMELIMIT": "1",
    "SBATCH_REQUEUE": "1",
    "SBATCH_MEM_PER_CPU": "1",
    "SBATCH_WAIT": "1",
    "SBATCH_ACCOUNT": "mine",
    "SQUEUE_PARTITION": "gpu",
    "SINFO_PARTITION": "gpu",
}


def slurm_whose(folder: Path, program: str, script: str) -> Slurm:
    """Return a Slurm of which one program is a double; it writes its variables to a file."""
    path = folder / program
    path.write_text(f"#!/bin/sh\nenv >{folder}/env\n{script}\n")
    path.chmod(0o755)
    return Slurm((), None, {**OF_A_USER, "PATH": f"{folder}:/usr/bin:/bin"})


def cluster_asked_by(folder: Path) -> str:
    """Return the cluster that the environment of the last command names."""
    lines = (folder / "env").read_text().splitlines()
    return next(one.partition("=")[2] for one in lines if one.startswith("SLURM_CLUSTERS="))


@pytest.mark.parametrize(
    ("cluster", "variables"),
    [
        ("venus", {}),
        ("venus", {"SLURM_CLUSTERS": "mars,pluto", "SBATCH_CLUSTERS": "mars"}),
        (None, {"SLURM_CLUSTERS": "venus"}),
        (None, {"SLURM_CLUSTERS": "mars", "SBATCH_CLUSTERS": "venus"}),
    ],
)
def test_all_commands_ask_the_cluster_that_gets_the_jobs(
    tmp_path: Path, cluster: str | None, variables: dict[str, str]
) -> None:
    """Jobs of two clusters have the same numbers: `scancel` would end somebody else's."""

    def slurm(program: str, script: str) -> Slurm:
        env = slurm_whose(tmp_path, program, script)._reach.env
        return Slurm((), None, {**env, **variables}, cluster)

    assert submit(slurm("sbatch", "echo '12;venus'"), tmp_path) == "12"
    assert cluster_asked_by(tmp_path) == "venus"
    assert "SBATCH_CLUSTERS=" not in (tmp_path / "env").read_text(), "it would override the other"
    slurm("squeue", "").jobs()
    assert cluster_asked_by(tmp_path) == "venus"
    slurm("scancel", "").cancel(["12"])
    assert cluster_asked_by(tmp_path) == "venus"
    slurm("sacct", f'echo "$*" >{tmp_path}/asked').account(["12"])
    assert "--clusters=venus" in (tmp_path / "asked").read_text()


@pytest.mark.parametrize("clusters", ["mars,venus", "all"])
def test_no_command_goes_to_several_clusters(tmp_path: Path, clusters: str) -> None:
    env = {**slurm_whose(tmp_path, "scancel", "")._reach.env, "SLURM_CLUSTERS": clusters}
    with pytest.raises(BackendError, match=f"SLURM_CLUSTERS or SBATCH_CLUSTERS is '{clusters}', and jobs of"):
        Slurm((), None, env).cancel(["12"])
    assert not (tmp_path / "env").exists()


def submit(slurm: Slurm, folder: Path) -> str:
    options = SlurmOptions(partition="compute", lines=("--mem=0",))
    platform = Platform(backend="slurm", options=options)
    task = Task(name="t", folder=folder, steps=(), layout=Layout(), platform=platform, timeout_s=60)
    script = folder / "job.sh"
    script.write_text(render([task], options))
    return slurm.submit(script, request_of([task]))


def test_what_a_script_states_no_variable_of_the_user_overrides(tmp_path: Path) -> None:
    """sbatch(1): "environment variables will override any options set in a batch script"."""
    assert submit(slurm_whose(tmp_path, "sbatch", "echo 12"), tmp_path) == "12"
    left = (tmp_path / "env").read_text()
    for name in ("PARTITION", "TIMELIMIT", "REQUEUE", "MEM_PER_CPU", "WAIT"):
        assert f"SBATCH_{name}=" not in left
    assert "SBATCH_ACCOUNT=mine" in left, "the script states none"


def test_jobs_and_partitions_are_asked_for_without_the_user_s_filters(tmp_path: Path) -> None:
    slurm_whose(tmp_path, "squeue", "").jobs()
    assert "SQUEUE_PARTITION" not in (tmp_path / "env").read_text()
    slurm = slurm_whose(tmp_path, "sinfo", "echo 'a b|up'; echo 'lab*|up'; echo 'x|drain'; echo 'Welcome'")
    assert slurm.partitions() == ["lab", "a b"]
    assert "SINFO_PARTITION" not in (tmp_path / "env").read_text()


def test_the_number_of_a_job_is_found_below_a_banner(tmp_path: Path) -> None:
    slurm = slurm_whose(tmp_path, "sbatch", "echo 'Welcome! 3 jobs of yours run.'; echo; echo '4711;venus'")
    assert submit(slurm, tmp_path) == "4711"
    with pytest.raises(BackendError, match="sbatch printed 'Welcome' instead of a job's number"):
        submit(slurm_whose(tmp_path, "sbatch", "echo Welcome"), tmp_path)


def test_variables_of_the_login_node_override_nothing_either(tmp_path: Path) -> None:
    slurm_whose(tmp_path, "sbatch", "echo 12")
    agent = tmp_path / "agent"
    variables = " ".join(f"{name}={value}" for name, value in OF_A_USER.items())
    agent.write_text(f'#!/bin/sh\nshift\nPATH={tmp_path}:/usr/bin:/bin {variables} exec sh -c "$*"\n')
    agent.chmod(0o755)
    assert submit(Slurm([str(agent)], "login1", {}), tmp_path) == "12"
    assert "SBATCH_PARTITION" not in (tmp_path / "env").read_text()


def test_a_machine_without_slurm_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendError, match="squeue: No such file or directory; is Slurm installed here"):
        Slurm((), None, {}).jobs()
