"""Two hosts whose campaigns have folders of the same name, copied or not, and jobs in the same namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare
from kubernetes_cluster.conftest import Campaign, Lab, until_clean

_IN_PLACE = ("unshare", "--mount", "sh", "-ec", 'mount --bind "$1" "$2"; shift 2; exec "$@"', "sh")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a folder in the place of another")
def test_neither_adopts_or_deletes_the_jobs_of_the_other(
    lab: Lab, namespace: str, campaign: Campaign, tmp_path: Path, tare: Tare
) -> None:
    (other := tmp_path / "other").mkdir()
    (here := tmp_path / "here").mkdir()
    first = Campaign(lab, namespace, here, tare).write(repeats=2, launcher={"runs-for": "20s"})
    with first.start() as runner:
        first.until_created(2, runner)
        n_created = first.n_created()
        second = Campaign(lab, namespace, other, tare).write(repeats=2, launcher={"runs-for": "1s"})
        command = [*_IN_PLACE, str(other), str(here), TARE, "run", f"{here}/study.yaml", "--out", f"{here}/c"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert runner.wait(timeout=120) == 0, (here / "run.log").read_text()
    assert first.counts() == second.counts() == {"done": 2}
    assert first.n_created() == n_created + 2, "each has runs of its own, and none is tried again"
    until_clean(first)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a folder in the place of another")
def test_a_copy_of_a_campaign_ends_before_it_takes_over_a_job(
    lab: Lab, namespace: str, tmp_path: Path, tare: Tare
) -> None:
    (here := tmp_path / "here").mkdir()
    first = Campaign(lab, namespace, here, tare).write(repeats=2, launcher={"runs-for": "20s"})
    with first.start() as runner:
        first.until_created(2, runner)
        n_created = first.n_created()
        other = shutil.copytree(here, tmp_path / "other")
        command = [*_IN_PLACE, str(other), str(here), TARE, "run", f"{here}/study.yaml", "--out", f"{here}/c"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "may be that of a copy of this campaign" in done.stderr
        assert "rename this folder" in " ".join(done.stderr.split())
        assert runner.wait(timeout=120) == 0, (here / "run.log").read_text()
    assert first.counts() == {"done": 2}
    assert first.n_created() == n_created
    until_clean(first)
