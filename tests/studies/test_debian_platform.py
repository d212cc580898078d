"""The lab's platform for programs of Debian: Open MPI, whose daemons must not leave the job."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.conftest import Tare

STUDY = """\
study: sessions
site: lab
platform: debian
workloads:
  session:
    command: [sh, -c, 'read -r _ _ _ _ _ session _ </proc/$$/stat; echo rank $OMPI_COMM_WORLD_RANK: $session']
    foms: [{name: session, unit: '1', better: lower, regex: 'rank (?P<rank>[0-9]+): ([0-9]+)', by: rank}]
    mpi: true
    needs_transport: false
workload: session
nodes: 2
repeats: 1
"""


@pytest.mark.lab
@pytest.mark.skipif(shutil.which("orterun") is None, reason="no Open MPI; run: apt install openmpi-bin")
def test_all_ranks_are_in_one_session_and_go_before_others_alike(tare: Tare, tmp_path: Path) -> None:
    """The scheduler weighs sessions, and a rank in one of its own would starve those that wait for it."""
    (tmp_path / "study.yaml").write_text(STUDY)
    done = tare("run", tmp_path / "study.yaml", "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(tare("export", tmp_path / "c", "--format", "json").stdout)["rows"]
    sessions = {row["rank"]: row["value"] for row in rows if row["rank"] is not None}
    assert len(sessions) == 2
    assert len(set(sessions.values())) == 1
