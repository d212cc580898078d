"""Adapters that bypass the kernel, in the lab: what shows them lies over /sys/class of its nodes."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.conftest import Tare, lab_site, needs_intelmpi
from support.adapters import Node
from tare.core.attempt import Attempt, Proof, State
from tare.lab import AGENT, Lab
from tare.storage.campaign import read_campaign

pytestmark = [pytest.mark.lab, needs_intelmpi]

NODES = ("n1", "n2")
STUDY = """\
study: adapters
site: site.yaml
factors: {workload: [WORKLOAD]}
platform: PLATFORM
network: host
nodes: 2
repeats: 1
timeout: 60 s
"""
PINGPONG = "{imb.pingpong: {max_bytes: 64KiB, iterations: 50}}"
SAYING = """\
workloads:
  saying:
    command: [sh, -c, {script!r}]
    mpi: true
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    checks: [{{matches: 'value:'}}]
"""
VALUE = "[ $PMI_RANK = 1 ] || echo 'value: 1'"
UCX_SAYS = "[1.2] [n1:1   :0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)"


@contextmanager
def adapters(lab: Lab, folder: Path, *, has_adapter: bool = True, growth: int = 0) -> Iterator[None]:
    """Have a ConnectX with RoCE on fab0 of two nodes, whose counters grow by `growth` bytes a second."""
    nodes = [Node(folder / name) for name in NODES]
    stop = threading.Event()

    def count(total: int) -> None:
        for node in nodes:
            node.mlx5(total, interface="fab0", layer="Ethernet")

    def grow() -> None:
        begin = time.monotonic()
        while not stop.wait(0.02):
            count(int(growth * (time.monotonic() - begin)))

    if has_adapter:
        count(0)
    grower = threading.Thread(target=grow)
    for name, node in zip(NODES, nodes, strict=True):
        in_node(lab, name, f"mount --bind {node.sys} /sys/class")
    if growth:
        grower.start()
    try:
        yield
    finally:
        stop.set()
        if growth:
            grower.join()
        for name in NODES:
            in_node(lab, name, "umount /sys/class")


def in_node(lab: Lab, name: str, command: str) -> None:
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **lab.env}
    subprocess.run([str(AGENT), name, command], env=env, check=True, timeout=30)


def run(
    tare_here: Tare,
    folder: Path,
    workload: str = PINGPONG,
    *,
    platform: str = "intelmpi",
    attest: str = "placement",
) -> Attempt:
    """Run one attempt whose network asks for verbs, while its data go over TCP, if at all."""
    settings = "    launcher: intelmpi\n    env: {FI_PROVIDER: tcp, FI_TCP_IFACE: fab0}\n"
    site = lab_site("    launcher: intelmpi\n", settings) + f"attest: {attest}\n"
    site += "networks:\n  host: {interface: fab0, address: '{node}.host', provider: verbs}\n"
    (folder / "site.yaml").write_text(site)
    study, _, rest = workload.partition("\n")
    text = STUDY.replace("WORKLOAD", study).replace("PLATFORM", platform)
    (folder / "study.yaml").write_text(text + rest)
    ended = tare_here("run", folder / "study.yaml", "--out", folder / "c")
    assert (folder / "c/plan.json").exists(), ended.stderr
    return read_campaign(folder / "c").attempts[-1]


def test_counters_that_grow_prove_it(tare_here: Tare, shared_lab: Lab, tmp_path: Path) -> None:
    with adapters(shared_lab, tmp_path, growth=2_500_000_000):
        found = run(tare_here, tmp_path)
    assert (found.state, found.proof) == (State.DONE, Proof.COUNTED), found.reason
    assert found.transport.startswith("mlx5_0:1 carried")
    assert found.traffic["n1"]["mlx5_0:1"].total_bytes > 50_000_000
    status = json.loads(tare_here("status", tmp_path / "c", "--json").stdout)
    assert status["runs"][0]["proof"] == "counted"
    assert "Counted on each of 1 measured run" in report(tare_here, tmp_path)


def test_counters_that_stand_still_while_tcp_carries_it_disprove_it(
    tare_here: Tare, shared_lab: Lab, tmp_path: Path
) -> None:
    with adapters(shared_lab, tmp_path):
        found = run(tare_here, tmp_path)
    assert (found.state, found.check, found.proof) == (State.INVALID, "transport", None)
    assert "the network asks for verbs, which goes past it: the data took another way" in found.reason


def test_counters_that_stand_still_and_no_word_leave_it_unproven(
    tare_here: Tare, shared_lab: Lab, tmp_path: Path
) -> None:
    with adapters(shared_lab, tmp_path):
        found = run(tare_here, tmp_path, saying(VALUE), platform="mpich")
    assert (found.state, found.proof) == (State.DONE, Proof.NOT_PROVEN), found.reason
    assert found.transport == "mlx5_0:1 on n1 counted nothing"
    assert "Not proven on each of 1 measured run" in report(tare_here, tmp_path)


def test_without_counters_the_mpis_report_is_shown_as_such(
    tare_here: Tare, shared_lab: Lab, tmp_path: Path
) -> None:
    script = f"echo '{UCX_SAYS}' >$(dirname $UCX_LOG_FILE)/ucx-$$; {VALUE}"
    with adapters(shared_lab, tmp_path, has_adapter=False):
        found = run(tare_here, tmp_path, saying(script), platform="mpich", attest="true")
    assert (found.state, found.proof) == (State.DONE, Proof.REPORTED), found.reason
    assert found.chosen == "UCX: rc_mlx5 over mlx5_0:1"
    assert found.transport == "n1 reports no counters of an adapter for verbs"
    assert "Reported on each of 1 measured run" in report(tare_here, tmp_path)


def saying(script: str) -> str:
    """Return a workload of a study's own that runs `script` on each rank."""
    return "saying\n" + SAYING.format(script=script)


def report(tare_here: Tare, folder: Path) -> str:
    tare_here("report", folder / "c", "--format", "markdown", "--format", "html")
    return " ".join((folder / "c/report/index.html").read_text().split())
