"""`tare run --boost`: what goes before other programs is said, recorded and the same for all ranks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.conftest import Tare, needs_intelmpi
from tare.core.attempt import State
from tare.lab.mpi import is_installed, mpi_folder
from tare.storage.campaign import read_campaign

pytestmark = pytest.mark.alone  # it measures who gets the CPU

STUDY = """\
study: boost
site: {site}
workloads:
  own:
    command: [sh, -c, 'echo value: 1; cat /proc/self/autogroup']
    mpi: {mpi}
    needs_transport: false
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)', by: [n]}}]
{more}
workload: own
repeats: 1
"""
needs_autogroups = pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="a kernel without autogroups"
)


@needs_autogroups
@pytest.mark.parametrize("options", [[], ["--boost"], ["--no-boost"]])
def test_it_is_reported_recorded_and_true(tare_here: Tare, tmp_path: Path, options: list[str]) -> None:
    study = STUDY.format(site="local", mpi="false", more="platform: bare").replace(", by: [n]", "")
    (tmp_path / "study.yaml").write_text(study)
    done = tare_here("run", "study.yaml", "--out", "c", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    is_on = "--no-boost" not in options
    allowed = "autogroup nice -20" if os.geteuid() == 0 else "none: this user may not"
    told = allowed if is_on else "off: --no-boost"
    assert f"priority of the runs' sessions: {told}\n" in done.stdout
    campaign = read_campaign(tmp_path / "c")
    (attempt,) = campaign.attempts
    (facts,) = campaign.environments[attempt.environment or ""].values()
    assert facts["priority.boost"] == told
    assert json.loads((tmp_path / "c" / attempt.folder / "command.json").read_text())[0]["boost"] is is_on
    nice = "-20" if told == "autogroup nice -20" else "0"
    assert (tmp_path / "c" / attempt.folder / "stdout").read_text().endswith(f"nice {nice}\n")


@pytest.mark.lab
@pytest.mark.usefixtures("shared_lab")
@needs_autogroups
@needs_intelmpi
@pytest.mark.parametrize("mpi", ["intelmpi", "mpich", "openmpi"])
@pytest.mark.parametrize("option", ["--boost", "--no-boost"])
def test_it_is_the_same_for_all_ranks_on_all_nodes(
    tare_here: Tare, tmp_path: Path, mpi: str, option: str
) -> None:
    if not is_installed(mpi, mpi_folder()):
        pytest.skip(f"no {mpi} here; run: tare lab setup")
    more = f"platform: {mpi}\nnetwork: host\nnodes: 2"
    study = STUDY.format(site="lab", mpi="true", more=more).replace(", by: [n]", "")
    study = study.replace(
        "echo value: 1; cat", '[ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 0 ] && echo value: 1; cat'
    )
    (tmp_path / "study.yaml").write_text(study)
    done = tare_here("run", "study.yaml", "--out", "c", option)
    (attempt,) = read_campaign(tmp_path / "c").attempts
    assert attempt.state is State.DONE, done.stdout + done.stderr + attempt.reason
    said = (tmp_path / "c" / attempt.folder / "stdout").read_text()
    nice = "-20" if option == "--boost" and os.geteuid() == 0 else "0"
    assert [line.split()[-1] for line in said.splitlines() if "autogroup" in line] == [nice, nice]
