"""A container gets the variables that a rank needs, and none of its user's secrets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runtimes.conftest import Subject
from tare.core.containers import ContainerOptions
from tare.core.launch import Invocation
from tare.core.site import Platform
from tare.plugins import registry

SECRETS = dict.fromkeys(
    (
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "KUBECONFIG",
        "SLURM_JWT",
        "FI_API_KEY",
        "PGPASSWORD",
        "SSH_AUTH_SOCK",
        "my.dotted-name",
        "http_proxy",
        "HTTPS_PROXY",
        "BASH_FUNC_module%%",
    ),
    "hunter2-in-plain-sight",
)
NEEDED = {
    "PMI_RANK": "3",
    "PMIX_SERVER_URI41": "pmix-server.7;tcp4://127.0.0.1:4711",
    "PMI_SHARED_SECRET": "of this job",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_MCA_orte_top_session_dir": "/tmp/ompi.n1",
    "SLURM_PROCID": "3",
    "MPI_LOCALRANKID": "1",
    "UCX_NET_DEVICES": "mlx5_0:1",
    "FI_PROVIDER": "tcp; $(echo no)",
    "OMP_NUM_THREADS": "4",
    "LD_LIBRARY_PATH": "/opt/mpi/lib",
}


@pytest.fixture(autouse=True)
def full_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user's shell and an MPI would hand to a rank, before any backend takes it from there."""
    for name, value in {**SECRETS, **NEEDED}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def contained(subject: Subject) -> Subject:
    if subject.platform.runtime == "native":
        pytest.skip("no container")
    return subject


def variables_in(subject: Subject, env: dict[str, str]) -> dict[str, str]:
    ended = subject.run("/usr/bin/env", "-0", env=env)
    assert ended.code == 0, (subject.folder / "stderr").read_text()
    return dict(line.split("=", 1) for line in subject.output.decode().split("\0")[:-1])


def test_no_secret_of_the_host_is_inside_and_what_starts_ranks_is(contained: Subject) -> None:
    inside = variables_in(contained, {"APP_TOKEN": "the study's own"})
    assert not set(SECRETS) & set(inside)
    assert "hunter2" not in str(inside)
    assert {name: inside.get(name) for name in NEEDED} == NEEDED
    assert inside["APP_TOKEN"] == "the study's own"


RECORDER = """\
#!/bin/sh
env -0 >"$RECORD"
"""


@pytest.mark.parametrize("name", ["apptainer", "singularity"])
@pytest.mark.parametrize(("source", "has_proxy"), [("/images/one.sif", False), ("docker://debian", True)])
def test_apptainer_itself_gets_no_secret_to_hand_on(
    tmp_path: Path, name: str, source: str, has_proxy: bool
) -> None:
    """It hands on all that it gets, so a stand-in that writes its own environment tells what is inside."""
    program, record = tmp_path / "stand-in", tmp_path / "LC_RECORD"
    program.write_text(RECORDER)
    program.chmod(0o755)
    platform = Platform(runtime=name, container=ContainerOptions(image=source, program=str(program)))
    own = {"APP_TOKEN": "the study's own", "RECORD": str(record)}
    made = registry.runtime(name).wrap(Invocation(argv=("true",), env=own), platform, str(tmp_path))
    subprocess.run(made.argv, env={**os.environ, **SECRETS, **NEEDED, **made.env}, check=True)
    inside = dict(line.split("=", 1) for line in record.read_text().split("\0")[:-1])
    assert set(SECRETS) & set(inside) == ({"http_proxy", "HTTPS_PROXY"} if has_proxy else set())
    assert {one: inside.get(one) for one in NEEDED} == NEEDED
    assert inside["APP_TOKEN"] == "the study's own"
