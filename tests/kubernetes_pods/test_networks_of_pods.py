"""What the three networks of pods cost, known beforehand: the uplink of one of them is limited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from kubernetes_pods.conftest import ROOT, PodLab, attempts

_STUDY = ROOT / "studies/openshift-networks.yaml"
_RATE_MB_S = 200 / 8  # pod_lab.RATE
_PATHS = {"pod-host": "hsn0", "multus": "net1", "sdn": "eth0"}
_N_BLOCKS = yaml.safe_load(_STUDY.read_text())["repeats"]
_LARGEST = 256 * 1024


class Done(NamedTuple):
    """The campaign, and how many bytes crossed each switch meanwhile."""

    folder: Path
    output: str
    crossed: dict[str, int]


@pytest.fixture(scope="module")
def done(pods: PodLab, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("networks") / "c"
    before = {switch: pods.bytes_through(switch) for switch in ("mgmt", "hsn")}
    ran = pods.tare("run", _STUDY, "--out", folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    crossed = {switch: pods.bytes_through(switch) - count for switch, count in before.items()}
    return Done(folder, ran.stdout, crossed)


def test_the_networks_are_those_of_the_published_study() -> None:
    study = yaml.safe_load((ROOT / "studies/articles/red-hat/openshift-gromacs.yaml").read_text())
    setups = study["factors"]["setup"]
    published = next(one for one in setups if one["platform"] == "openshift")["network"]
    assert yaml.safe_load(_STUDY.read_text())["factors"]["network"] == published


def test_all_blocks_ran_each_in_an_order_of_its_own(done: Done) -> None:
    every = attempts(done.folder)
    assert [one["state"] for one in every] == ["done"] * 3 * _N_BLOCKS
    cases = [one["case"] for one in every]
    blocks = [tuple(cases[start : start + 3]) for start in range(0, len(cases), 3)]
    assert all(len(set(block)) == 3 for block in blocks)
    assert len(set(blocks)) > 1


def test_the_limited_network_is_worse_with_its_whole_interval(done: Done, pods: PodLab) -> None:
    compared = json.loads(pods.tare("compare", done.folder, "--json").stdout)["comparisons"]
    found = {
        (one["fom"], one["contender"]["network"]): one for one in compared if one["at"]["bytes"] == _LARGEST
    }
    latency, bandwidth = found["latency", "sdn"], found["bandwidth", "sdn"]
    assert latency["verdict"] == bandwidth["verdict"] == "worse"
    assert latency["low"] > 1
    assert bandwidth["high"] < 1


def test_the_limited_network_is_no_faster_than_its_limit_and_the_others_are(done: Done) -> None:
    rates = _bandwidths(done.folder)
    assert max(rates["sdn"]) < 1.1 * _RATE_MB_S  # the bucket holds some more
    assert max(rates["multus"]) > 1.5 * _RATE_MB_S
    assert max(rates["pod-host"]) > 1.5 * _RATE_MB_S


def test_counters_inside_the_pods_prove_each_path(done: Done) -> None:
    for attempt in attempts(done.folder):
        own = _PATHS[_network(done.folder, attempt["case"])]
        assert len(attempt["traffic"]) == 2
        for interfaces in attempt["traffic"].values():
            sent = {name: counts["tx_bytes"] for name, counts in interfaces.items()}
            data = sent.pop(own)
            assert data > 50 * _LARGEST
            assert sum(sent.values()) < data / 10
        assert attempt["transport"].startswith(f"{own} carried")


def test_ranks_say_where_they_are_and_their_mpi_what_it_chose(done: Done) -> None:
    for attempt in attempts(done.folder):
        own = _PATHS[_network(done.folder, attempt["case"])]
        assert attempt["placement"].startswith("1 rank in each of 2 pods on 2 nodes, each free to run on ")
        assert attempt["chosen"] == f"libfabric: tcp over {own}"


def test_the_switches_saw_what_the_pods_say(done: Done) -> None:
    reported = {"mgmt": 0, "hsn": 0}
    for attempt in attempts(done.folder):
        own = _PATHS[_network(done.folder, attempt["case"])]
        switch = "mgmt" if own == "eth0" else "hsn"
        reported[switch] += sum(interfaces[own]["tx_bytes"] for interfaces in attempt["traffic"].values())
    assert done.crossed["hsn"] == pytest.approx(reported["hsn"], rel=0.05)
    assert reported["mgmt"] < done.crossed["mgmt"] < 1.2 * reported["mgmt"]  # there are kubelets too


def test_telemetry_of_the_pods_has_the_columns_of_other_platforms(done: Done) -> None:
    for attempt in attempts(done.folder):
        figures = attempt["telemetry"]
        assert {"cpu_user", "cpu_idle", "memory_peak", "context_switches", "network_sent"} <= figures.keys()
        own = _PATHS[_network(done.folder, attempt["case"])]
        counted = sum(interfaces[own]["tx_bytes"] for interfaces in attempt["traffic"].values())
        assert figures["network_sent"] == pytest.approx(counted, rel=0.1)


def test_the_report_shows_the_cost_with_its_interval(done: Done, pods: PodLab) -> None:
    made = pods.tare("report", done.folder)
    assert made.returncode == 0, made.stderr
    page = (done.folder / "report/index.html").read_text()
    assert "sdn" in page
    assert "worse" in page
    line = next(line for line in done.output.splitlines() if line.startswith("sdn") and "latency" in line)
    assert "[" in line


def _bandwidths(folder: Path) -> dict[str, list[float]]:
    """Return the bandwidths that the largest messages had, by network."""
    found: dict[str, list[float]] = {name: [] for name in _PATHS}
    for attempt in attempts(folder):
        [series] = (one for one in attempt["series"] if one["fom"] == "bandwidth")
        values = dict(zip(series["at"]["bytes"], series["values"], strict=True))
        found[_network(folder, attempt["case"])].append(float(values[_LARGEST]))
    return found


def _network(folder: Path, case: str) -> str:
    cases = json.loads((folder / "plan.json").read_text())["cases"]
    return str(next(one["network"] for one in cases if one["id"] == case))
