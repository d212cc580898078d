"""A disk that does not give a file that a run has just written: no fact of that run is known for certain."""

from __future__ import annotations

import errno
import os
import shutil
from html import unescape
from pathlib import Path

import pytest

from cli.conftest import Tare, call_tare_here
from cli.small_study import small_study
from support.disks import failing_disk
from tare.core.packets import Counted
from tare.core.safe_folder import SafeFolder
from tare.plugins.collectors.packets import store
from tare.report.evidence import read_evidence


@pytest.mark.parametrize("name", ["stdout", "stderr", "command.json", "telemetry.localhost.jsonl"])
def test_a_file_that_the_disk_does_not_give_ends_the_command_with_its_name(
    tare_here: Tare, tmp_path: Path, name: str
) -> None:
    """Such a run was done without its stderr among the evidence; of telemetry, "cannot write" was said."""
    study = tmp_path / "study.yaml"
    study.write_text(small_study("echo value: 3; sleep 0.05"))
    with failing_disk(name):
        done = tare_here("run", study, "--out", tmp_path / "c", "--telemetry", "10ms")
    assert done.returncode == 3
    assert f"/1.1/{name}: cannot" in done.stderr
    assert "read: Input/output error" in done.stderr
    assert "write" not in done.stderr
    assert tare_here("run", tmp_path / "c").returncode == 0, "the disk is back"
    assert tare_here("verify", tmp_path / "c").returncode == 0


@pytest.mark.parametrize("name", ["stdout", "stderr", "command.json"])
def test_a_report_names_the_evidence_that_the_disk_does_not_give(tmp_path: Path, name: str) -> None:
    for one, text in {"stdout": "a", "stderr": "b", "command.json": '[{"argv": ["true"]}]'}.items():
        (tmp_path / one).write_text(text)
    with failing_disk(name):
        evidence = read_evidence(SafeFolder(tmp_path))
    assert evidence.streams[name] == "[ the file in the campaign folder cannot be read: Input/output error ]"


FAULTS = pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of four runs with telemetry and counts of packets."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "study.yaml").write_text(small_study("echo value: 3; sleep 0.05"))
    assert call_tare_here("run", folder / "study.yaml", "--out", folder / "c", cwd=folder).returncode == 0
    for one in (folder / "c/attempts").glob("*/*"):
        store(one, {"n1": Counted(interface="fab0", n_packets=3, sent=[(66, 3)])})
    return folder / "c"


@FAULTS
@pytest.mark.parametrize("is_lookup", [False, True])
@pytest.mark.parametrize("name", ["journal.jsonl", "plan.json", "environments"])
@pytest.mark.parametrize("command", ["status", "run"])
def test_what_the_disk_does_not_give_of_a_campaign_is_not_taken_for_absent(
    tare_here: Tare, campaign: Path, number: int, name: str, command: str, is_lookup: bool
) -> None:
    """A journal that could not be looked up was none, as were facts in a folder that could not be listed."""
    before = sorted(campaign.rglob("*"))
    with failing_disk(name, number, is_lookup=is_lookup):
        done = tare_here(command, campaign)
    if done.returncode != 0:
        assert done.returncode == 3
        assert f"{name}: cannot" in done.stderr
        assert os.strerror(number) in done.stderr
    else:
        assert done.stdout == tare_here(command, campaign).stdout, "it was not needed, and nothing is missing"
    assert sorted(campaign.rglob("*")) == before


@FAULTS
@pytest.mark.parametrize("name", ["attempts", "stdout"])
def test_verify_names_what_it_could_not_read(tare_here: Tare, campaign: Path, number: int, name: str) -> None:
    with failing_disk(name, number):
        done = tare_here("verify", campaign)
    assert done.returncode == 1
    assert f"cannot be read: {os.strerror(number)}" in done.stdout


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("telemetry.jsonl.gz", errno.EIO),
        ("packets.json", errno.ESTALE),
        ("SHA256SUMS", errno.EACCES),
        ("SHA256SUMS", errno.EIO),
    ],
)
def test_a_report_says_which_measurements_the_disk_does_not_give(
    tare_here: Tare, campaign: Path, name: str, number: int
) -> None:
    """Neither the chart of nodes over time nor the table of packets was there, as if nothing was measured."""
    with failing_disk(name, number):
        done = tare_here("report", campaign, "--out", campaign.parent / f"{name}{number}")
    assert done.returncode == 0
    page = unescape((campaign.parent / f"{name}{number}/index.html").read_text())
    assert f"{name} cannot be read: {os.strerror(number)}" in page.replace(": cannot", " cannot")
    assert "is not what it was" not in page, "nobody knows"


def test_a_recording_that_cannot_be_read_leaves_the_others_in_their_chart(
    tare_here: Tare, campaign: Path, tmp_path: Path
) -> None:
    shutil.copytree(campaign, tmp_path / "c")
    damaged = sorted((tmp_path / "c/attempts").glob("*/*/telemetry.jsonl.gz"))[0]
    damaged.write_bytes(b"no gzip")
    assert tare_here("report", tmp_path / "c").returncode == 0
    page = unescape((tmp_path / "c/report/index.html").read_text())
    assert "Left out, because the telemetry of 1 run cannot be read: " in page
    assert "telemetry.jsonl.gz: cannot be read: damaged" in page
