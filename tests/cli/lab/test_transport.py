"""Real MPIs say which transport they chose, and a run for which it is another is invalid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.conftest import Tare, lab_site, needs_intelmpi
from tare.core.attempt import Attempt, State
from tare.lab.mpi import is_installed, mpi_folder
from tare.storage.campaign import read_campaign

pytestmark = [pytest.mark.lab, needs_intelmpi, pytest.mark.usefixtures("shared_lab")]

STUDY = """\
study: transport
site: site.yaml
factors:
  platform: PLATFORMS
  workload: [WORKLOAD]
network: host
nodes: 2
repeats: 1
timeout: 60 s
"""
SAID = {
    "intelmpi": "libfabric: tcp over fab0",
    "mpich": "UCX: tcp over fab0",
    "openmpi": "Open MPI: tcp over fab0",
    "debian": "Open MPI: tcp over fab0",
}


def run(
    tare_here: Tare,
    folder: Path,
    platforms: list[str],
    *,
    workload: str = "imb.pingpong: {max_bytes: 1KiB, iterations: 5}",
    site: str | None = None,
) -> dict[str, Attempt]:
    """Run one attempt in the lab on each platform, and return it by the platform's name."""
    (folder / "site.yaml").write_text(site or lab_site())
    study = STUDY.replace("PLATFORMS", json.dumps(platforms)).replace("WORKLOAD", workload)
    (folder / "study.yaml").write_text(study)
    tare_here("run", folder / "study.yaml", "--out", folder / "c")
    campaign = read_campaign(folder / "c")
    return {campaign.cases[one.case].platform: one for one in campaign.attempts}


def test_each_mpi_reports_its_transport_and_the_program_is_not_disturbed(
    tare_here: Tare, tmp_path: Path
) -> None:
    there = [name for name in ("intelmpi", "mpich", "openmpi") if is_installed(name, mpi_folder())]
    there += ["debian"] if shutil.which("mpicc.openmpi") else []
    if there == ["intelmpi"] or shutil.which("gcc") is None:
        pytest.skip("no MPI but Intel's, or no compiler; run: tare lab setup --mpi mpich,openmpi")
    if "mpich" not in there:
        there.remove("intelmpi")  # which has no compiler of its own
    workload = "tare.p2p: {max_bytes: 1KiB, iterations: 20, time_s: 0.05 s}"
    found = run(tare_here, tmp_path, there, workload=workload)
    assert {name: one.chosen for name, one in found.items()} == {name: SAID[name] for name in there}
    for name, one in found.items():
        folder = tmp_path / "c" / one.folder
        assert one.state is State.DONE, (name, one.reason)
        assert (folder / "transport/run.txt").stat().st_size < 2000
        errors = folder / "stderr"
        assert not errors.exists() or "[info]" not in errors.read_text()
        assert not any(word in (folder / "stdout").read_text() for word in ("UCX", "libfabric", "btl"))
    status = json.loads(tare_here("status", tmp_path / "c", "--json").stdout)
    assert {one["chosen"] for one in status["runs"]} == {SAID[name] for name in there}


def test_tcp_in_place_of_what_the_network_asks_for_is_invalid(tare_here: Tare, tmp_path: Path) -> None:
    """The bytes go over the right interface all the same, so that their counters cannot tell."""
    settings = (
        "    launcher: intelmpi\n    env: {FI_PROVIDER: tcp, FI_TCP_IFACE: fab0, FI_LOG_PROV: 'core,tcp'}\n"
    )
    site = lab_site("    launcher: intelmpi\n", settings)
    site += "networks:\n  host: {interface: fab0, address: '{node}.host', provider: verbs}\n"
    found = run(tare_here, tmp_path, ["intelmpi"], site=site)["intelmpi"]
    assert (found.state, found.check) == (State.INVALID, "transport")
    assert found.reason == "libfabric chose tcp, and the network asks for verbs"
    assert found.chosen == "libfabric: tcp over fab0"


def test_a_library_that_is_silent_leaves_it_unknown(tare_here: Tare, tmp_path: Path) -> None:
    site = lab_site("    launcher: intelmpi\n", "    launcher: intelmpi\n    env: {FI_LOG_LEVEL: warn}\n")
    found = run(tare_here, tmp_path, ["intelmpi"], site=site)["intelmpi"]
    assert (found.state, found.chosen) == (State.DONE, "")
    assert "fab0 carried" in found.transport


def test_a_site_may_not_ask_the_libraries(tare_here: Tare, tmp_path: Path) -> None:
    found = run(tare_here, tmp_path, ["intelmpi"], site=lab_site() + "attest: placement\n")["intelmpi"]
    assert (found.state, found.chosen) == (State.DONE, "")
    assert found.placement
    command = (tmp_path / "c" / found.folder / "command.json").read_text()
    assert "FI_LOG_LEVEL" not in command
