"""Two programs that meet, under the lab's Slurm: the client is told the address of a node chosen later."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.conftest import Tare
from tare.core.attempt import State
from tare.lab import slurm
from tare.storage.campaign import read_campaign

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}"),
    pytest.mark.skipif(shutil.which("iperf3") is None, reason="no iperf3 here; apt install iperf3"),
]

SITE = """\
site: queue
management: [mgmt0]
lab: {nodes: 3, networks: {host: {kind: bridge}, other: {kind: bridge}}}
platforms:
  queue: {backend: slurm, launcher: srun, slurm: {login: n1, in_flight: 1, lines: [--exclude=n1]}}
"""
STUDY = """\
study: peers
site: site.yaml
workload: {iperf3: {time_s: 1}}
factors: {network: [host, other]}
nodes: 2
repeats: 1
"""


def test_a_client_finds_its_server_on_each_network(tare: Tare, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    (tmp_path / "study.yaml").write_text(STUDY)
    done = tare("run", "study.yaml", "--out", "c")
    if "the lab cannot be built" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    assert {(one.state, *one.hosts) for one in campaign.attempts} == {(State.DONE, "n2", "n3")}
    hosts = set()
    for one in campaign.attempts:
        said = json.loads((tmp_path / "c" / one.folder / "stdout").read_text())
        hosts.add(said["start"]["connecting_to"]["host"])
    assert hosts == {"n2.host", "n2.other"}
