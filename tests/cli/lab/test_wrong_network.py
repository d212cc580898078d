"""MPIs that take another network than the one that was asked for: never a number, said or not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.conftest import Tare, lab_site
from tare.core.attempt import Attempt, Proof, State
from tare.lab.mpi import is_installed, mpi_folder
from tare.storage.campaign import read_campaign

pytestmark = [
    pytest.mark.lab,
    pytest.mark.usefixtures("shared_lab"),
    pytest.mark.skipif(
        not all(is_installed(name, mpi_folder()) for name in ("intelmpi", "mpich", "openmpi")),
        reason="not all three MPIs are here; run: tare lab setup --mpi intelmpi,mpich,openmpi",
    ),
]

STUDY = """\
study: misled
site: site.yaml
factors:
  platform: [intelmpi, mpich, openmpi]
  workload:
    - tare.p2p: {max_bytes: 4, iterations: 2, time_s: 0.01 s}
    - tare.p2p: {max_bytes: 1MiB, iterations: 5, time_s: 0.01 s}
    - tare.collectives: {operations: allreduce, max_bytes: 8, iterations: 5, time_s: 0.01 s}
network: macvlan
nodes: 2
repeats: 1
timeout: 60 s
"""
MPIRUN = """\
#!/bin/bash
# Open MPI as it is, but that its data take eth0.
for ((i = 1; i < $#; i++)); do
  [ "${{!i}}" = btl_tcp_if_include ] && set -- "${{@:1:i}}" eth0 "${{@:i+2}}"
done
exec {real} "$@"
"""


def misled_openmpi(folder: Path) -> Path:
    """Return where an Open MPI is installed whose mpirun gives its ranks another interface."""
    real, mine = mpi_folder() / "openmpi", folder / "openmpi"
    (mine / "bin").mkdir(parents=True)
    for one in (real / "bin").iterdir():
        if one.name != "mpirun":
            (mine / "bin" / one.name).symlink_to(one)
    for one in real.iterdir():
        if one.name != "bin":
            (mine / one.name).symlink_to(one)
    (mine / "bin/mpirun").write_text(MPIRUN.format(real=real / "bin/mpirun"))
    (mine / "bin/mpirun").chmod(0o755)
    return mine


def misled_site(folder: Path, attest: str, start: str = "mgmt0") -> str:
    """Return a site whose MPIs take eth0, and start their ranks over the interface `start`."""
    text = lab_site("    launcher: intelmpi\n", "    launcher: intelmpi\n    env: {FI_TCP_IFACE: eth0}\n")
    env = "{UCX_NET_DEVICES: eth0, FI_TCP_IFACE: eth0}"
    text = text.replace("    launcher: mpich\n", f"    launcher: mpich\n    env: {env}\n", 1)
    text = text.replace("prefix: ${TARE_MPI}/openmpi\n", f"prefix: {misled_openmpi(folder)}\n", 1)
    return text.replace("management: [mgmt0]", f"management: [{start}]") + f"attest: {attest}\n"


def run(tare_here: Tare, folder: Path, site: str, study: str = STUDY) -> list[tuple[str, Attempt]]:
    (folder / "site.yaml").write_text(site)
    (folder / "study.yaml").write_text(study)
    ended = tare_here("run", folder / "study.yaml", "--out", folder / "c")
    assert (folder / "c/plan.json").exists(), ended.stderr
    campaign = read_campaign(folder / "c")
    assert len(campaign.attempts) == len(campaign.plan.cases) >= 2
    return [(campaign.cases[one.case].platform, one) for one in campaign.attempts]


@pytest.mark.parametrize("attest", ["true", "placement"])
def test_a_payload_over_another_network_is_never_a_number(
    tare_here: Tare, tmp_path: Path, attest: str
) -> None:
    for platform, one in run(tare_here, tmp_path, misled_site(tmp_path, attest)):
        assert (one.state, one.check, one.proof) == (State.INVALID, "transport", None), (platform, one)
        assert "the data took another way; " in one.reason, platform
        assert one.traffic[one.hosts[0]]["eth0"].total_bytes > 1000, platform


def test_a_start_over_the_claimed_network_does_not_pass_for_its_payload(
    tare_here: Tare, tmp_path: Path
) -> None:
    for platform, one in run(tare_here, tmp_path, misled_site(tmp_path, "placement", "net1")):
        assert (one.state, one.check) == (State.INVALID, "transport"), (platform, one.transport)
        crossed = one.traffic[one.hosts[0]]
        assert crossed["net1"].total_bytes > 0, f"{platform} did not start its ranks over net1"
        is_more = crossed["eth0"].total_bytes > crossed["net1"].total_bytes
        assert is_more or "which of them carried the data is not known" in one.reason, (platform, one.reason)


REPEATED = STUDY[: STUDY.index("    - tare.p2p")] + (
    "    - tare.p2p: {max_bytes: 4KiB, iterations: 2000, time_s: 0.01 s}\n"
    + STUDY[STUDY.index("network: ") :]
)
A_PASS, REPETITIONS = 8191, 2000
"""Bytes of one message of each size up to 4 KiB, and how often each is sent at least."""


def needed(text: str) -> float:
    """Return the bytes that the figures need, from a sentence of evidence or the reason of an invalid run."""
    match = re.search(r"need at least ([\d.]+) (KiB|MiB)|; ([\d.]+) (KiB|MiB) were needed", text)
    assert match, text
    number, unit = (one for one in match.groups() if one)
    return float(number) * {"KiB": 2**10, "MiB": 2**20}[unit]


def test_each_repetition_counts_so_that_a_start_over_the_claimed_network_is_too_little(
    tare_here: Tare, tmp_path: Path
) -> None:
    """The start carries more than one pass over all sizes, and far less than all repetitions of it."""
    for platform, one in run(tare_here, tmp_path, misled_site(tmp_path, "placement", "net1"), REPEATED):
        assert (one.state, one.check, one.proof) == (State.INVALID, "transport", None), (platform, one)
        started = one.traffic[one.hosts[0]]["net1"].total_bytes
        assert A_PASS < started < A_PASS * REPETITIONS / 2, (platform, started)
        assert needed(one.reason) > A_PASS * REPETITIONS, (platform, one.reason)


def test_data_over_the_management_network_are_not_set_aside(tare_here: Tare, tmp_path: Path) -> None:
    """The claimed network carries the start, and what the site calls management the data."""
    study = REPEATED.replace(", openmpi]", "]")  # whose ranks start over one of several only
    for platform, one in run(tare_here, tmp_path, misled_site(tmp_path, "placement", "net1, eth0"), study):
        assert (one.state, one.check, one.proof) == (State.INVALID, "transport", None), (platform, one)
        assert one.traffic[one.hosts[0]]["eth0"].total_bytes > A_PASS * REPETITIONS
        assert "eth0 carried" in one.reason, (platform, one.reason)


def test_the_right_network_carried_all_repetitions(tare_here: Tare, tmp_path: Path) -> None:
    for platform, one in run(tare_here, tmp_path, lab_site("", "") + "attest: placement\n", REPEATED):
        assert (one.state, one.proof) == (State.DONE, Proof.COUNTED), (platform, one)
        assert needed(one.transport) > A_PASS * REPETITIONS, (platform, one.transport)
