"""`tare doctor STUDY`: what a study's programs lack is told without a run, and without a campaign."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cli.conftest import Tare

SITE = """\
site: here
nodes: [localhost]
platforms:
  bare: {}
  queued: {backend: slurm, launcher: none}
  boxed: {runtime: podman, container: {image: "quay.io/me/solver:1"}}
"""
STUDY = """\
study: programs
site: site.yaml
workloads:
  solver:
    command: [PROGRAM]
    foms: [{name: value, unit: s, better: lower, regex: 'value: (.*)'}]
workload: solver
factors: {platform: [PLATFORMS]}
"""


def examine(tare: Tare, folder: Path, program: str, platforms: str = "bare", code: int = 0) -> dict[str, str]:
    """Return what is found, by name, each with its label; nothing else is written."""
    (folder / "site.yaml").write_text(SITE)
    (folder / "study.yaml").write_text(STUDY.replace("PROGRAM", program).replace("PLATFORMS", platforms))
    there = {*folder.rglob("*")}
    done = tare("doctor", "study.yaml", "--json")
    assert done.returncode == code, done.stdout + done.stderr
    assert {*folder.rglob("*")} == there
    found = json.loads(done.stdout)
    assert (found["schema"], found["study"]) == ("tare.doctor.study/1", "study.yaml")
    labels = {True: "ok", False: "FAULT", None: "unknown"}
    return {
        one["name"]: f"{labels[one['is_met']]}: {one['found']}; {one['cure']}" for one in found["findings"]
    }


def install(folder: Path, text: str | bytes, mode: int = 0o755) -> str:
    path = folder / "solver-1.2"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return str(path)


def build(folder: Path, name: str, text: str, *options: str) -> None:
    command = ["cc", "-x", "c", "-", "-x", "none", "-o", name, *options]
    subprocess.run(command, input=text, text=True, cwd=folder, check=True)


def foreign() -> bytes:
    """Return a program of this machine, marked as one for another processor (ELF(5), e_machine)."""
    own = bytearray(Path("/bin/true").read_bytes())
    own[18] ^= 0xFF
    return bytes(own)


@pytest.mark.parametrize(
    ("text", "mode", "fault"),
    [
        (None, 0, "is not found on this machine; install it, or correct its path"),
        ("#!/bin/sh\n", 0o644, "cannot be executed on this machine; make it executable: chmod +x"),
        (
            "#!/opt/none/python\n",
            0o755,
            "is a script for /opt/none/python, which is not there on this machine;",
        ),
        ("echo value: 1\n", 0o755, "is text whose first line does not say what runs it on this machine;"),
        (foreign(), 0o755, "is built for another processor on this machine; build it for this one"),
    ],
)
def test_a_program_that_cannot_start_is_a_fault_with_its_cure(
    tare_here: Tare, tmp_path: Path, text: str | bytes | None, mode: int, fault: str
) -> None:
    program = str(tmp_path / "solver-1.2") if text is None else install(tmp_path, text, mode)
    found = examine(tare_here, tmp_path, program, code=3)
    assert found[f"solver on bare: {program}"].startswith("FAULT: ")
    assert fault in found[f"solver on bare: {program}"]


def test_a_library_that_is_missing_is_a_fault(tare_here: Tare, tmp_path: Path) -> None:
    build(tmp_path, "libmesh.so", "int mesh(void) { return 0; }", "-shared", "-fPIC")
    build(tmp_path, "solver-1.2", "int mesh(void); int main(void) { return mesh(); }", "-L.", "-lmesh")
    (tmp_path / "libmesh.so").unlink()
    program = str(tmp_path / "solver-1.2")
    assert (
        "FAULT: lacks the libraries libmesh.so"
        in examine(tare_here, tmp_path, program, code=3)[f"solver on bare: {program}"]
    )


def test_programs_of_a_queue_are_looked_for_on_this_machine_and_no_job_is_submitted(
    tare_here: Tare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compute node may have them where this machine has not, so that is no fault."""
    (tmp_path / "bin").mkdir()
    for name in ("sbatch", "srun", "squeue", "ssh"):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/called\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    program = install(tmp_path, "#!/bin/sh\n")
    found = examine(tare_here, tmp_path, program, "queued")
    assert found == {
        f"solver on queued: {program}": "ok: found on this machine; nodes of the queue were not asked; "
    }
    (tmp_path / "solver-1.2").unlink()
    assert examine(tare_here, tmp_path, program, "queued")[f"solver on queued: {program}"] == (
        "unknown: is not found on this machine; nodes of the queue were not asked; "
        "install it, or correct its path"
    )


def test_what_starts_in_containers_is_not_looked_for_and_said_so(tare_here: Tare, tmp_path: Path) -> None:
    found = examine(tare_here, tmp_path, install(tmp_path, "#!/bin/sh\n"), "bare, boxed")
    assert found["boxed"].startswith(
        "unknown: its programs start in containers, where nothing was looked for"
    )
    assert len(found) == 2


def test_a_study_and_a_site_are_not_examined_at_once(tare_here: Tare, tmp_path: Path) -> None:
    done = tare_here("doctor", "study.yaml", "--site", "local")
    assert done.returncode == 2
    assert "a study names its site; leave out --site" in done.stderr
