from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

Tare = Callable[..., "subprocess.CompletedProcess[str]"]


def test_all_workloads_are_listed_with_a_line_each(tare_here: Tare) -> None:
    ended = tare_here("workloads")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "imb.pingpong " in ended.stdout
    assert all(len(line) < 140 for line in ended.stdout.splitlines())


def test_the_name_of_a_family_lists_its_members(tare_here: Tare) -> None:
    body = json.loads(tare_here("workloads", "imb", "--json").stdout)
    assert body["schema"] == "tare.workloads/1"
    assert {one["family"] for one in body["workloads"]} == {"imb"}
    assert len(body["workloads"]) > 10


def test_one_workload_is_explained(tare_here: Tare) -> None:
    ended = tare_here("workloads", "imb.pingpong")
    assert ended.returncode == 0
    for piece in (
        "max_bytes   4MiB",
        "latency*    us    lower   bytes",
        "IMB-MPI1 -npmin 2 -msglog 0:22 -iter 1000 -time 10 PingPong",
        "    - imb.pingpong: {max_bytes: 4MiB, min_bytes: 0B}",
    ):
        assert piece in ended.stdout


def test_one_workload_is_described_to_machines(tare_here: Tare) -> None:
    (one,) = json.loads(tare_here("workloads", "imb.pingpong", "--json").stdout)["workloads"]
    assert [parameter["name"] for parameter in one["parameters"]][:2] == ["max_bytes", "min_bytes"]
    assert one["foms"][0]["name"] == "latency"


def test_an_unknown_name_is_answered_with_the_nearest(tare_here: Tare) -> None:
    ended = tare_here("workloads", "imb.pingpng")
    assert ended.returncode == 2
    assert "did you mean 'imb.pingpong'?" in ended.stderr
