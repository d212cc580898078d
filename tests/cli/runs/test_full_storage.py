"""A storage path that is full is the infrastructure's fault; what a run filled itself is its program's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.conftest import TARE
from tare.core.attempt import Attempt, State
from tare.storage.campaign import read_campaign

STUDY = """\
study: full
site: site.yaml
workloads:
  writer:
    command: [sh, {program}, '{{storage}}']
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
workload: writer
repeats: 1
retries: 1
"""
SITE = "site: one\nnodes: [localhost]\nplatforms: {{bare: {{}}}}\nstorage: {{small: {disk}}}\n"
NEIGHBOUR = """\
neighbour=$1/../neighbour
if mkdir {first} 2>/dev/null; then {fill}
else rm -rf "$neighbour"; fi
"""
WRITE = "dd if=/dev/zero of=$1/data bs=64k count={blocks} || exit 1; echo value: 1\n"
FILLS = {
    "bytes": ("dd if=/dev/zero of=$neighbour bs=1M", "takes no file of 1 MiB: No space left on device"),
    "all but some": ("dd if=/dev/zero of=$neighbour bs=1M count=62", "is all but full: "),
    "inodes": (
        "mkdir $neighbour; for n in $(seq 300); do touch $neighbour/$n || break; done",
        "is all but full: 1 of 200 inodes left",
    ),
}


def campaign_of(tmp_path: Path, program: str, before: str = "true") -> list[Attempt]:
    """Run one case on a small file system of its own; return its attempts."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "program").write_text(program)
    (tmp_path / "site.yaml").write_text(SITE.format(disk=disk))
    (tmp_path / "study.yaml").write_text(STUDY.format(program=tmp_path / "program"))
    script = f"""
mount -t tmpfs -o size=64m,nr_inodes=200 tmpfs {disk} || exit 77
{before.format(disk=disk)}
{TARE} run {tmp_path}/study.yaml --out {tmp_path}/campaign --no-rehearsal
"""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"this kernel lets no user mount a tmpfs: {done.stderr.strip()}")
    assert (tmp_path / "campaign/journal.jsonl").exists(), done.stdout + done.stderr
    return list(read_campaign(tmp_path / "campaign").attempts)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare(1) of util-linux is not installed")
@pytest.mark.parametrize("fill", list(FILLS))
def test_what_others_filled_is_reported_and_the_run_is_tried_again(fill: str, tmp_path: Path) -> None:
    command, said = FILLS[fill]
    first = NEIGHBOUR.format(first=tmp_path / "first", fill=command)
    attempts = campaign_of(tmp_path, first + WRITE.format(blocks=64))
    came = [(one.state, one.is_infrastructure) for one in attempts]
    assert came == [(State.FAILED, True), (State.DONE, False)], attempts
    assert f"when the run had ended, storage path {tmp_path}/disk {said}" in attempts[0].reason


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare(1) of util-linux is not installed")
def test_what_a_run_filled_itself_is_its_own_fault(tmp_path: Path) -> None:
    (attempt,) = campaign_of(tmp_path, WRITE.format(blocks=2000))
    assert (attempt.state, attempt.is_infrastructure) == (State.FAILED, False)
    assert "No space left on device" in attempt.reason


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare(1) of util-linux is not installed")
def test_a_path_that_takes_no_folder_of_a_run_is_the_infrastructures(tmp_path: Path) -> None:
    full = "for n in $(seq 300); do touch {disk}/$n || break; done"
    attempts = campaign_of(tmp_path, "exit 1", before=full)
    assert [one.is_infrastructure for one in attempts] == [True, True], attempts
    assert "takes no file of 1 MiB: No space left on device; this run's folder" in attempts[0].reason
