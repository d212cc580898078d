"""`tare clean` looks into the queues that a site names, not only into that of the shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tare import config
from tare.core.backend_plugin import Surroundings
from tare.plugins.backend_registry import backend

SITE = """\
site: two
nodes: [localhost]
platforms:
  one: {{backend: slurm, launcher: srun, slurm: {{cluster: {cluster}, lines: []}}}}
  other: {{backend: slurm, launcher: srun, slurm: {{cluster: {cluster}}}}}
"""

SQUEUE = """\
#!/bin/sh
echo "7|RUNNING|tare-000000000000-c|None|lab|tare-label: /campaigns/${SLURM_CLUSTERS:-own}"
"""
"""A double of squeue: each cluster has one job of a campaign, of the same number."""


def leftovers(folder: Path, cluster: str | None, env: dict[str, str]) -> list[str]:
    site = folder / "site.yaml"
    site.write_text(SITE.format(cluster=cluster))
    reports: list[str] = []
    there = Surroundings(
        env={**os.environ, **env},
        lab=None,
        site=config.read_site(str(site)).site if cluster else None,
        report=reports.append,
    )
    found = [one.what for one in backend("slurm").leftovers(there)]
    assert not reports
    return found


@pytest.fixture(autouse=True)
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squeue = tmp_path / "bin/squeue"
    squeue.parent.mkdir()
    squeue.write_text(SQUEUE)
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{squeue.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path))
    monkeypatch.delenv("SLURM_CLUSTERS", raising=False)
    monkeypatch.delenv("SBATCH_CLUSTERS", raising=False)


def test_jobs_of_a_cluster_that_only_a_site_names_are_found(tmp_path: Path) -> None:
    own, other = "Slurm job 7 of /campaigns/own", "Slurm job 7 of /campaigns/other"
    assert leftovers(tmp_path, None, {}) == [own]
    assert leftovers(tmp_path, "other", {}) == [own, other]


def test_a_queue_that_is_named_twice_gives_each_job_once(tmp_path: Path) -> None:
    assert leftovers(tmp_path, "other", {"SLURM_CLUSTERS": "other"}) == ["Slurm job 7 of /campaigns/other"]
