from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.containers import ContainerOptions
from tare.core.site import Platform
from tare.plugins.collectors import mpi, variables
from tare.plugins.collectors.facts import FUNCTIONS, collect_facts, probe_script, read_facts
from tare.plugins.collectors.facts import sources as fact_sources
from tare.plugins.collectors.images import container_facts
from tare.plugins.collectors.secrets import is_recordable, redact
from tare.plugins.collectors.source import Source, Subject
from tare.probes.records import read_records

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
    "SLURM_EXPORT_ENV": "ALL,X=hunter2",
    "OMPI_MCA_mca_base_env_list": "X=hunter2;PATH",
    "UCX_1": "http://bob:p@hunter2@host/x",
    "UCX_2": "postgres://bob:p/hunter2@host/x",
    "UCX_3": "OPTIONS=token=hunter2",
    "UCX_4": "user=bob,password=hunter2",
    "UCX_5": "http://host/path?api_key=hunter2",
    "UCX_6": "bob:hunter2@registry/image",
    "UCX_7": "password = hunter2",
    "UCX_8": '{"password": "hunter2"}',
    "UCX_9": 'password="two hunter2',
    "OMPI_MCA_plm_rsh_agent": "sshpass -p hunter2 ssh",
    "I_MPI_EXTRA": "tool --password hunter2 --x",
    "UCX_VALUE": "ghp_hunter20123456789",
}
"""Each holds the password in another way that people and programs write one."""


def ask_node(
    environment: Mapping[str, str],
    subject: Subject | None = None,
    sources: tuple[Source, ...] = fact_sources(),
) -> str:
    """Return what a node with this environment says of itself."""
    return subprocess.run(
        ["/bin/sh", "-c", probe_script(sources, subject or Subject())],
        env={"PATH": os.environ["PATH"], **environment},
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


@pytest.mark.parametrize("name", HOSTILE)
def test_a_secret_does_not_even_leave_the_node(name: str) -> None:
    output = ask_node({name: HOSTILE[name]}, sources=(variables.SOURCE,))
    assert name in output or "%" in name
    assert "hunter2" not in output


def test_a_node_hides_what_is_hidden_here() -> None:
    lines = [
        *HOSTILE.values(),
        *KERNEL,
        *PLAIN,
        "-p",
        "Bearer",
        "a_key:",
        "--key -x",
        "x_key=",
        "  ",
        "a:b@sha256:1",
    ]
    lines = [line.replace("\n", " ") for line in lines]
    done = subprocess.run(
        ["/bin/sh", "-c", f"{FUNCTIONS}\nhide"],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [redact(line) for line in lines]


KERNEL = {
    "quiet rd.password=hunter2 x=1": "quiet rd.password=(hidden) x=1",
    "root_key='hunter2 b' x=1": "root_key=(hidden) x=1",
    "rd.luks.key=hunter2 ro": "rd.luks.key=(hidden) ro",
    "systemd.setenv=DB_PASSWORD=hunter2 ro": "systemd.setenv=DB_PASSWORD=(hidden) ro",
    "cifsroot=//nas/x,user=bob,password=hunter2 ro": "cifsroot=//nas/x,user=bob,password=(hidden) ro",
    "netroot=iscsi:bob:hunter2@10.0.0.1::::iqn ro": "netroot=(hidden)@10.0.0.1::::iqn ro",
}
"""Command lines that carry a password, as kernel, systemd and dracut.cmdline(7) have them."""


@pytest.mark.parametrize("text", KERNEL)
def test_a_password_on_the_kernels_command_line_is_hidden(text: str) -> None:
    assert redact(text) == KERNEL[text]


def test_a_password_in_the_settings_of_an_mpi_does_not_leave_the_node(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/openmpi-mca-params.conf").write_text("btl = tcp,self\nsec_token = hunter2\n")
    output = ask_node({}, Subject(prefix=str(tmp_path)), sources=(mpi.SOURCE,))
    assert "hunter2" not in output
    facts = collect_facts(read_records(output))
    assert facts["mpi.settings"] == "btl = tcp,self; sec_token = (hidden)"


def test_all_output_of_a_source_is_redacted() -> None:
    source = Source("odd", "", lambda records: {"odd": "password=hunter2"})
    assert read_facts((source,), {"end of odd": "\n"}) == {"odd": "password=(hidden)"}


def test_credentials_in_the_name_of_an_image_are_hidden() -> None:
    options = ContainerOptions(image="bob:hunter2@registry:5000/app:1@sha256:12")
    facts = container_facts(Platform(launcher="none", container=options), {})
    assert facts["platform.image"] == "(hidden)@registry:5000/app:1@sha256:12"


def test_what_each_job_has_of_its_own_is_no_fact() -> None:
    environment = {"SLURM_JOB_ID": "4711", "SLURM_CPU_BIND": "mask_cpu:0x1", "SLURM_STEP_NUM_TASKS": "2"}
    environment |= {"TMPDIR": "/scratch/4711/x.4711", "OMP_STACKSIZE": "4711", "MPI_X": "/a/94711/b"}
    output = ask_node(environment, sources=(variables.SOURCE,))
    facts = read_facts((variables.SOURCE,), read_records(output))
    del facts["variable.PATH"]
    assert facts == {
        "variable.TMPDIR": "/scratch/JOB/x.JOB",
        "variable.OMP_STACKSIZE": "4711",
        "variable.MPI_X": "/a/94711/b",
    }


def test_a_node_without_awk_records_no_variables(tmp_path: Path) -> None:
    for tool in ("cat", "sed"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    output = ask_node({"PATH": str(tmp_path), "MY_TOKEN": "x", "OMP_NUM_THREADS": "4"})
    facts = collect_facts(read_records(output))
    assert "kernel.release" in facts
    assert not [fact for fact in facts if fact.startswith("variable")]


@given(st.from_regex(r"[A-Z_]{0,8}(TOKEN|SECRET|PASSWORD|KEY|CREDENTIALS)[A-Z_]{0,8}", fullmatch=True))
def test_no_variable_named_like_a_secret_is_recorded(name: str) -> None:
    for prefix in ("", "OMP_", "SLURM_", "I_MPI_", "UCX_"):
        assert not is_recordable(prefix + name)


@given(st.text(st.characters(exclude_characters="", exclude_categories=("Z", "C")), min_size=1))
def test_the_password_of_an_url_is_hidden_whatever_it_is(password: str) -> None:
    assert f"§{password}§" not in redact(f"a http://bob:§{password}§@host/path b")


PLAIN = [
    "root=UUID=12-34 quiet",
    "/usr/bin:/opt/mpi/bin",
    "/opt/spack/gcc@12/bin:/opt/spack/openmpi@4/bin",
    "/home/bob/keys:/opt/auth/bin",
    "btl_tcp_if_include=fab0",
    "tcp,self,sm",
    "debian:12@sha256:0123",
    "/usr/lib/libauth.so.1 sha256:0123",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text
