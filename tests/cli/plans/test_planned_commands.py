"""What `tare plan` calls a case is what its command line starts.

These tests know nothing of the code within, so that they can be run on another version (TARE_PROGRAM).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.conftest import Tare
from cli.imports.imported_logs import put

SITE = """\
site: big
nodes: [n1, n2, n3, n4]
slots_per_node: 64
agent: [/opt/agent]
platforms:
  mpich: {launcher: mpich}
  openmpi5: {launcher: openmpi5}
  srun: {launcher: srun, backend: slurm, slurm: {}}
networks:
  ib: {interface: ib0, options: {openmpi5: {UCX_NET_DEVICES: 'mlx5_0:1'}}}
"""
MINE = """\
workloads:
  mine: {command: [sh, -c, 'echo t: 1'], foms: [{name: t, unit: s, better: lower, regex: 't: (.*)'}]}
"""
STARTED = re.compile(r"--ntasks=(\d+)|^mpiexec\S* .* -n (\d+) ", re.MULTILINE)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return put(tmp_path / "site.yaml", SITE)


def study(folder: Path, *lines: str) -> Path:
    return put(folder / "study.yaml", "\n".join(("study: s", "site: site.yaml", *lines)) + "\n")


@pytest.mark.parametrize("platform", ["mpich", "srun"])
@pytest.mark.parametrize("workload", ["imb.pingpong", "osu.latency", "osu.bw", "tare.p2p"])
def test_ranks_of_a_plan_are_those_that_its_command_lines_start(
    workload: str, platform: str, tare_here: Tare, site: Path, tmp_path: Path
) -> None:
    lines = (
        f"platform: {platform}",
        "nodes: 2",
        "ranks_per_node: 64",
        f"factors: {{workload: [{workload}]}}",
    )
    path = study(tmp_path, *lines)
    (case,) = json.loads(tare_here("plan", path, "--json").stdout)["cases"]
    shown = [match[1] or match[2] for match in STARTED.finditer(tare_here("plan", path, "--show").stdout)]
    assert shown[-1:] == [str(case["ranks"])]


def test_levels_that_start_the_same_command_are_no_two_cases(
    tare_here: Tare, site: Path, tmp_path: Path
) -> None:
    path = study(
        tmp_path,
        *("platform: mpich", "nodes: 2"),
        "factors: {workload: [imb.pingpong, imb.allreduce], ranks_per_node: [1, 2]}",
    )
    cases = json.loads(tare_here("plan", path, "--json").stdout)["cases"]
    assert [(one["workload"], one["ranks"]) for one in cases] == [
        ("imb.pingpong", 2),
        ("imb.allreduce", 2),
        ("imb.allreduce", 4),
    ]


@pytest.mark.parametrize(
    "factor", ["nodes: [1, 2, 4]", "ranks: [1, 2]", "nodes: [1], ranks_per_node: [1, 8]"]
)
def test_a_program_that_does_not_use_its_nodes_or_ranks_is_refused(
    factor: str, tare_here: Tare, site: Path, tmp_path: Path
) -> None:
    path = study(tmp_path, "platform: mpich", f"factors: {{workload: [mine], {factor}}}", MINE)
    ended = tare_here("plan", path)
    assert ended.returncode == 2
    assert "study.yaml:4:" in ended.stderr
    assert "mpi: true" in ended.stderr


@pytest.mark.parametrize(
    ("reference", "factor"),
    [("ranks_per_node: 1", "ranks_per_node: [1, 2]"), ("nodes: 2", "nodes: [2, 4]")],
)
def test_a_reference_by_its_layout_has_something_held_against_it(
    reference: str, factor: str, tare_here: Tare, tmp_path: Path
) -> None:
    agent = put(tmp_path / "agent", '#!/bin/sh\nshift\nexec sh -c "$*"\n')
    agent.chmod(0o755)
    put(tmp_path / "site.yaml", SITE.replace("/opt/agent", str(agent)))
    fom = "{name: t, unit: s, better: lower, regex: 't: (.*)'}"
    command = "[sh, -c, 'echo t: {ranks} # {nodes}']"
    path = study(
        tmp_path,
        *("platform: mpich", "repeats: 3", f"reference: {{{reference}}}"),
        f"factors: {{workload: [own], {factor}}}",
        f"workloads: {{own: {{command: {command}, foms: [{fom}]}}}}",
    )
    done = tare_here("run", path, "--out", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(tare_here("compare", "c", "--json").stdout)["comparisons"]
    assert (found["ratio"], found["n_blocks"]) == (2, 3)


def test_ranks_are_bound_to_cores_where_they_fit_and_the_plan_shows_it(
    tare_here: Tare, site: Path, tmp_path: Path
) -> None:
    lines = ("platform: mpich", "nodes: 2", "ranks_per_node: 64", "factors: {workload: [imb.allreduce]}")
    path = study(tmp_path, *lines)
    assert "-bind-to core" in tare_here("plan", path, "--show").stdout
    (case,) = json.loads(tare_here("plan", path, "--json").stdout)["cases"]
    assert case["bind"] == "core"


def test_binding_can_be_varied(tare_here: Tare, site: Path, tmp_path: Path) -> None:
    path = study(
        tmp_path, "platform: mpich", "nodes: 2", "factors: {workload: [imb.allreduce], bind: [none, core]}"
    )
    found = tare_here("plan", path, "--json")
    assert [one["bind"] for one in json.loads(found.stdout)["cases"]] == ["none", "core"]


def test_options_of_a_network_that_srun_drops_are_reported(
    tare_here: Tare, site: Path, tmp_path: Path
) -> None:
    path = study(
        tmp_path, "platform: srun", "network: ib", "nodes: 2", "factors: {workload: [imb.allreduce]}"
    )
    ended = tare_here("plan", path)
    assert ended.returncode == 0, ended.stderr
    assert "options of network ib for openmpi5 do not reach ranks of platform srun" in (
        " ".join((ended.stdout + ended.stderr).split())
    )
