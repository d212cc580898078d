"""What cannot start is told once, before the first run, with the cure."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from cli.conftest import Tare
from tare.core.attempt import State
from tare.storage.campaign import read_campaign

STUDY = """\
study: rehearsal
site: site.yaml
workloads:
  solver:
    command: [{program}, '{{storage}}/x']
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
workload: solver
factors: {{size: [1, 2, 3]}}
repeats: 3
"""
SITE = "site: here\nnodes: [localhost]\nplatforms: {{bare: {{path: [{path}]}}}}\nstorage: {{s: {storage}}}\n"


def write(folder: Path, program: str = "solver-1.2", storage: str | None = None) -> Path:
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "site.yaml").write_text(SITE.format(path=folder / "bin", storage=storage or folder))
    (folder / "study.yaml").write_text(STUDY.format(program=program))
    return folder / "study.yaml"


def install(folder: Path, text: str = "#!/bin/sh\necho value: 1\n", mode: int = 0o755) -> Path:
    path = folder / "bin" / "solver-1.2"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_program_that_is_not_there_is_reported_once_and_nothing_is_run(
    tare_here: Tare, tmp_path: Path
) -> None:
    done = tare_here("run", write(tmp_path), "--out", "c")
    assert done.returncode == 2
    assert done.stderr.count("on platform") == 1
    assert (
        f"  {tmp_path}/study.yaml:4:3: solver on platform bare: solver-1.2 is not found on this machine; "
        "install it, or name its folder in the platform's 'path' in the site file\n"
    ) in done.stderr
    assert not list((tmp_path / "c").glob("attempts/*/*"))


def test_when_it_is_mended_the_same_command_goes_on(tare_here: Tare, tmp_path: Path) -> None:
    study = write(tmp_path)
    assert tare_here("run", study, "--out", "c").returncode == 2
    install(tmp_path)
    done = tare_here("run", study, "--out", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "c/rehearsal.json").read_text())["findings"]
    assert {"solver-1.2", "storage s"} <= {one["subject"] for one in found}
    assert {one.block for one in read_campaign(tmp_path / "c").attempts} == {1, 2, 3}, "it is no run"


def test_a_study_that_is_corrected_before_its_first_run_goes_on_in_its_folder(
    tare_here: Tare, tmp_path: Path
) -> None:
    wrong = write(tmp_path, "solver-1.3")
    install(tmp_path)
    assert tare_here("run", wrong, "--out", "c").returncode == 2
    study = write(tmp_path)
    assert "--extend" not in tare_here("plan", study, "--out", "c").stdout
    done = tare_here("run", study, "--out", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(read_campaign(tmp_path / "c").attempts) == 9
    refused = tare_here("run", write(tmp_path, "solver-1.3"), "--out", "c")
    assert "c holds 3 cases that the study no longer has" in refused.stderr, "now runs have begun"


def test_it_may_be_left_out_and_then_the_runs_show_the_fault(tare_here: Tare, tmp_path: Path) -> None:
    done = tare_here("run", write(tmp_path), "--out", "c", "--no-rehearsal")
    assert done.returncode == 1
    attempts = read_campaign(tmp_path / "c").attempts
    assert {one.state for one in attempts} == {State.FAILED}
    assert all("solver-1.2" in one.reason for one in attempts)


def test_runs_that_fail_alike_end_after_one_block_with_what_stood_on_stdout(
    tare_here: Tare, tmp_path: Path
) -> None:
    """As those of ior and mdtest do, which tell their errors there; no look from outside could see it."""
    study = write(tmp_path)
    said = "Began: today\\nERROR: cannot create x: Read-only file system, (aiori.c:4)"
    frame = "--------\\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\\n"
    install(tmp_path, f"#!/bin/sh\nprintf '{said}\\n'; printf -- '{frame}' >&2; exit 1\n")
    done = tare_here("run", study, "--out", "c")
    assert done.returncode == 1
    attempts = read_campaign(tmp_path / "c").attempts
    assert [one.block for one in attempts] == [1, 1, 1], "and not nine of them"
    assert {one.reason for one in attempts} == {
        "exit code 1: ERROR: cannot create x: Read-only file system, (aiori.c:4)"
    }


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("#!/opt/no/python3 -u\n", "is a script for /opt/no/python3, which is not there"),
        ("#!/bin/sh\r\necho made on Windows\r\n", "is a script whose lines end with carriage returns"),
        ("echo value: 1.0\n", "is text whose first line does not say what runs it"),
        ("", "is text whose first line does not say what runs it"),
        (
            b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + b"\x99\x99".ljust(100, b"\0"),
            "is built for another processor",
        ),
    ],
)
def test_a_program_that_the_kernel_would_refuse_is_reported(
    tare_here: Tare, tmp_path: Path, content: str | bytes, fault: str
) -> None:
    study = write(tmp_path)
    install(tmp_path).write_bytes(content.encode() if isinstance(content, str) else content)
    done = tare_here("run", study, "--out", "c")
    assert done.returncode == 2
    assert f"solver-1.2 {fault} on this machine; " in done.stderr
    assert done.stderr.count("on platform") == 1


def test_a_program_that_may_not_be_executed_is_reported(tare_here: Tare, tmp_path: Path) -> None:
    study = write(tmp_path)
    path = install(tmp_path, mode=0o644)
    write(tmp_path, program=str(path))
    assert f"{path} cannot be executed on this machine; make it executable" in tare_here("run", study).stderr


def test_a_folder_in_a_programs_place_is_reported(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "solver").mkdir()
    study = write(tmp_path, program=str(tmp_path / "solver"))
    assert f"{tmp_path / 'solver'} is a folder on this machine; name the" in tare_here("run", study).stderr


WITH_A_SHELL = """\
#!/bin/sh
# Stands for ssh to a host whose /bin/sh is another shell.
shift
case $* in "/bin/sh "*) exec {shell} ;; esac
exec {shell} -c "$*"
"""


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "bash"])
def test_every_shell_tells_a_program_from_what_is_none(tare_here: Tare, tmp_path: Path, shell: str) -> None:
    """They disagree on ``command -v``: dash names folders, and to bash `time` is a word of its own."""
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"no {shell} here")
    study = write(tmp_path)
    install(tmp_path)
    (tmp_path / "bin" / "folder").mkdir()
    agent = tmp_path / "agent"
    agent.write_text(WITH_A_SHELL.format(shell=shell))
    agent.chmod(0o755)
    (tmp_path / "site.yaml").write_text(
        SITE.format(path=tmp_path / "bin", storage=tmp_path).replace("localhost", "n1") + f"agent: {agent}\n"
    )
    faults = {
        "solver-1.2": "",
        f"{tmp_path}/bin/folder": "is a folder on n1",
        "folder": "is not found on n1",
        f"{tmp_path}/bin/none": "is not found on n1",
        f"{tmp_path}/site.yaml": "cannot be executed on n1",
        "coproc": "is not found on n1",
    }
    for name, fault in faults.items():
        study.write_text(STUDY.format(program=name))
        done = tare_here("run", study, "--out", f"c-{Path(name).name}")
        assert f"{name} {fault}" in done.stderr if fault else done.returncode == 0, (name, done.stderr)


def test_a_storage_path_that_is_not_there_is_reported_with_the_systems_words(
    tare_here: Tare, tmp_path: Path
) -> None:
    study = write(tmp_path, storage="/nowhere/scratch")
    install(tmp_path)
    said = tare_here("run", study, "--out", "c").stderr
    assert "  c/site.yaml:4:11: solver on platform bare: storage 's' cannot be written to" in said
    assert "storage 's' cannot be written to: mkdir: cannot create directory" in said
    assert "No such file or directory" in said


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler here")
@pytest.mark.parametrize("is_led", [False, True])
def test_a_library_is_lacking_only_where_nothing_else_may_name_its_folder(
    tare_here: Tare, tmp_path: Path, *, is_led: bool
) -> None:
    """A launcher or the stage itself may: to refuse what would run is worse than to say nothing."""
    study = write(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "a.c").write_text("int a(void) { return 0; }\n")
    (tmp_path / "b.c").write_text(
        '#include <stdio.h>\nint a(void); int main(void) { puts("value: 1"); return a(); }'
    )
    gcc = partial(subprocess.run, check=True, cwd=tmp_path)
    gcc(["gcc", "-shared", "-fPIC", "-o", "lib/libfar.so", "a.c"])
    gcc(["gcc", "-o", "bin/solver-1.2", "b.c", "-Llib", "-lfar"])
    if is_led:
        env = f"    env: {{LD_LIBRARY_PATH: {tmp_path}/lib}}\n"
        study.write_text(study.read_text().replace("    parameters:", f"{env}    parameters:"))
    done = tare_here("run", study, "--out", "c")
    assert done.stderr.count("needs libfar.so" if is_led else "the libraries libfar.so") == 1
    if is_led:
        assert done.returncode == 0, done.stderr
        assert (
            f"note: {study}:4:3: solver on platform bare: solver-1.2 needs libfar.so, which the"
            in done.stderr
        )
    else:
        assert done.returncode == 2
        assert "solver-1.2 lacks the libraries libfar.so on this machine; install them" in done.stderr


def test_what_ran_well_is_not_looked_at_again(tare_here: Tare, tmp_path: Path) -> None:
    study = write(tmp_path)
    path = install(tmp_path)
    assert tare_here("run", study, "--out", "c").returncode == 0
    path.unlink()
    assert tare_here("run", study, "--out", "c").returncode == 0


OF_EACH_NODE = """\
#!/bin/sh
# Stands for ssh: every host is this machine without programs of its own, and has a storage path of its own.
export TARE_TEST_HOST=$1 PATH=/usr/bin:/bin
shift
sed "s:{scratch}:{scratch}-$TARE_TEST_HOST:g" | sh -c "$*"
"""


def test_storage_that_each_node_has_of_its_own_is_no_place_for_a_file_of_all(
    tare_here: Tare, tmp_path: Path
) -> None:
    scratch, agent = tmp_path / "scratch", tmp_path / "agent"
    agent.write_text(OF_EACH_NODE.format(scratch=scratch))
    agent.chmod(0o755)
    for name in ("n1", "n2"):
        (tmp_path / f"scratch-{name}").mkdir()
    (tmp_path / "site.yaml").write_text(
        f"site: s\nnodes: [n1, n2]\nagent: {agent}\nplatforms: {{mpi: {{launcher: mpich}}}}\n"
        f"storage: {{local: {scratch}}}\n"
    )
    (tmp_path / "study.yaml").write_text("study: s\nsite: site.yaml\nworkload: ior\nnodes: 2\nrepeats: 3\n")
    said = tare_here("run", "study.yaml", "--out", "c").stderr
    assert f"storage 'local' is each node's own: what n1 makes in {scratch} is not seen on n2" in said
    assert "use a storage path that nodes share, or nodes: 1" in said
    assert "ior is not found on n1, n2" in said


def test_memory_that_each_node_has_of_its_own_is_refused_at_plan_time(
    tare_here: Tare, tmp_path: Path
) -> None:
    text = "study: s\nsite: lab\nworkload: {}\nplatform: intelmpi\nstorage: memory\nnodes: {}\nrepeats: 3\n"
    for workload in ("ior", "mdtest"):
        (tmp_path / "study.yaml").write_text(text.format(workload, 2))
        refused = tare_here("plan", "study.yaml")
        assert refused.returncode == 2
        assert (
            "study.yaml:5:10: storage: storage 'memory' of site lab is /dev/shm, which is" in refused.stderr
        )
        assert refused.stderr.endswith("use a storage path that nodes share, or nodes: 1\n")
        (tmp_path / "study.yaml").write_text(text.format(workload, 1))
        assert tare_here("plan", "study.yaml").returncode == 0
