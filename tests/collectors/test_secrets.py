from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.collectors.facts import collect_facts, facts_script
from tare.collectors.probe import read_records
from tare.collectors.secrets import is_told, redact
from tare.collectors.source import Subject

HOSTILE = {
    "AWS_SECRET_ACCESS_KEY": "hunter2",
    "MY_TOKEN": "hunter2",
    "my_token": "hunter2",
    "FI_TOKEN": "hunter2",
    "SLURM_JWT": "hunter2",
    "OMPI_MCA_auth_cookie": "hunter2",
    "UCX_PASSWORD": "hunter2",
    "I_MPI_PrivateKey": "hunter2",
    "HTTP_PROXY": "http://bob:hunter2@proxy:3128",
    "UCX_LOG_FILE": "http://bob:hunter2@collector/log",
    "FI_PROVIDER_PATH": "/lib password=hunter2",
    "NCCL_DEBUG_FILE": "Bearer hunter2",
    "OMP_PLACES": "cores\nDATABASE_URL=x\nSECRET=hunter2",
    "MPI_NOTE": "secret_key='hunter2 hunter2'",
    "BASH_FUNC_x%%": "() { hunter2; }",
    "DATABASE_URL": "postgres://bob:hunter2@db/x",
}


def ask_node(variables: Mapping[str, str]) -> str:
    """Return what a node with these variables says of itself."""
    return subprocess.run(
        ["/bin/sh", "-c", facts_script(Subject())],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def test_no_secret_reaches_the_facts() -> None:
    facts = collect_facts(read_records(ask_node({**HOSTILE, "OMP_NUM_THREADS": "4"})))
    assert "hunter2" not in str(facts)
    assert facts["variable.OMP_NUM_THREADS"] == "4"
    assert facts["variable.UCX_LOG_FILE"] == "http://(hidden)@collector/log"
    hidden = facts["variables.not_recorded"].split()
    assert {"AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "FI_TOKEN", "HTTP_PROXY", "DATABASE_URL"} <= set(hidden)


@pytest.mark.parametrize("name", [name for name in HOSTILE if not is_told(name)])
def test_a_denied_variable_does_not_even_leave_the_node(name: str) -> None:
    said = ask_node({name: HOSTILE[name]})
    assert name in said or "%" in name
    assert "hunter2" not in said


def test_a_node_without_awk_tells_no_variables(tmp_path: Path) -> None:
    for tool in ("cat", "sed"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    said = ask_node({"PATH": str(tmp_path), "MY_TOKEN": "x", "OMP_NUM_THREADS": "4"})
    facts = collect_facts(read_records(said))
    assert "kernel.release" in facts
    assert not [fact for fact in facts if fact.startswith("variable")]


@given(st.from_regex(r"[A-Z_]{0,8}(TOKEN|SECRET|PASSWORD|KEY|CREDENTIALS)[A-Z_]{0,8}", fullmatch=True))
def test_no_name_that_speaks_of_a_secret_is_told(name: str) -> None:
    for prefix in ("", "OMP_", "SLURM_", "I_MPI_", "UCX_"):
        assert not is_told(prefix + name)


@given(st.text(st.characters(exclude_characters="/@", exclude_categories=("Z", "C")), min_size=1))
def test_the_password_of_an_url_is_hidden_whatever_it_is(password: str) -> None:
    assert f"§{password}§" not in redact(f"a http://bob:§{password}§@host/path b")


@pytest.mark.parametrize(
    "text",
    ["root=UUID=12-34 quiet", "/usr/bin:/opt/mpi/bin", "btl_tcp_if_include=fab0", "tcp,self,sm"],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_a_password_on_the_kernels_command_line_is_hidden() -> None:
    assert (
        redact("quiet rd.password=abc root_key='a b' x=1")
        == "quiet rd.password=(hidden) root_key=(hidden) x=1"
    )
