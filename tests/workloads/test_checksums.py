"""Inputs that are not the published ones end a run before it begins."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Stage, Workload
from tare.plugins.workloads import gromacs, lammps, namd, wrf
from workloads.cases import case_of

GROMACS, NAMD, WRF = gromacs.WORKLOADS[0], namd.WORKLOADS[0], wrf.WORKLOADS[0]
SCRIPT = next(one for one in lammps.WORKLOADS if one.name == "lammps.script")
CONTENT = b"published"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def run(stages: tuple[Stage, ...], work: Path) -> subprocess.CompletedProcess[str]:
    """Run the stages up to the check of sums, as a backend would."""
    work.mkdir()
    for stage in stages:
        for name, text in stage.files.items():
            (work / name).write_text(text)
        ended = subprocess.run(stage.argv, cwd=work, capture_output=True, text=True, check=False)
        if ended.returncode or stage.name == "checksums":
            return ended
    raise AssertionError("no stage checks sums")


def given(workload: Workload, folder: Path, **sums: str) -> Case:
    known: dict[str, dict[str, Scalar]] = {
        GROMACS.name: {"tpr": f"{folder}/bench.tpr"},
        SCRIPT.name: {"folder": str(folder), "script": "in.bench"},
    }
    return case_of(workload, None, **{**known.get(workload.name, {"inputs": str(folder)}), **sums})


@pytest.mark.parametrize("workload", [NAMD, WRF, SCRIPT], ids=lambda one: one.name)
@pytest.mark.parametrize(("content", "code"), [(CONTENT, 0), (b"another", 1)])
def test_a_folder_is_held_against_its_file_of_sums(
    tmp_path: Path, workload: Workload, content: bytes, code: int
) -> None:
    folder = tmp_path / "inputs"
    (folder / "data").mkdir(parents=True)
    (folder / "data/box.pdb").write_bytes(content)
    (tmp_path / "SHA256SUMS").write_text(f"{SHA256}  data/box.pdb\n")
    stages = workload.stages(given(workload, folder, checksums=str(tmp_path / "SHA256SUMS")))
    ended = run(stages, tmp_path / "work")
    assert ended.returncode == code
    assert ended.stdout == ("data/box.pdb: FAILED\n" if code else "")
    assert [stage.name for stage in stages].index("checksums") < len(stages) - 1


@pytest.mark.parametrize(("content", "code"), [(CONTENT, 0), (b"another", 1)])
def test_a_ready_input_is_held_against_its_sum(tmp_path: Path, content: bytes, code: int) -> None:
    (tmp_path / "bench.tpr").write_bytes(content)
    stages = GROMACS.stages(given(GROMACS, tmp_path, sha256=SHA256.upper()))
    ended = run(stages, tmp_path / "work")
    assert (ended.returncode, ended.stdout) == (code, "ready.tpr: FAILED\n" if code else "")
    assert stages[-1].argv[2:4] == ("-s", "ready.tpr"), "what was checked is what is run"


def test_a_missing_input_fails_too(tmp_path: Path) -> None:
    assert run(GROMACS.stages(given(GROMACS, tmp_path, sha256=SHA256)), tmp_path / "work").returncode == 1


@pytest.mark.parametrize("workload", [GROMACS, NAMD, WRF, SCRIPT], ids=lambda one: one.name)
def test_without_sums_nothing_is_checked(tmp_path: Path, workload: Workload) -> None:
    assert "checksums" not in {stage.name for stage in workload.stages(given(workload, tmp_path))}


@pytest.mark.parametrize(
    ("workload", "sums", "cure"),
    [
        (GROMACS, {"sha256": "12ab"}, "write what sha256sum prints"),
        (GROMACS, {"sha256": SHA256, "tpr": ""}, "set tpr, or leave out sha256"),
        (NAMD, {"checksums": "SHA256SUMS"}, "write an absolute path"),
        (WRF, {"checksums": "SHA256SUMS"}, "write an absolute path"),
        (SCRIPT, {"checksums": "SHA256SUMS"}, "write an absolute path"),
    ],
)
def test_sums_that_cannot_be_are_faults(
    tmp_path: Path, workload: Workload, sums: dict[str, str], cure: str
) -> None:
    (fault,) = workload.faults(given(workload, tmp_path, **sums))
    assert fault.endswith(cure)
