"""`tare plan` refuses, or tells with its place, what would be measured otherwise than meant."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Tare

FOMS = "[{name: t, unit: s, better: lower, regex: 't: ([0-9.]+)'}]"
MINE = f"""\
workloads:
  mine:
    command: [sh, -c, "echo t: {{{{size}}}}"]
    parameters: {{size: 1}}
    foms: {FOMS}
"""


def write(folder: Path, text: str, name: str = "study.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_one_workload_is_held_against_another_to_the_end(tare_here: Tare, tmp_path: Path) -> None:
    foms = (f"{{name: {name}, unit: s, better: lower, regex: '{name}: (.*)'}}" for name in "tu")
    other = f"[{', '.join(foms)}]"
    study = write(
        tmp_path,
        "study: w\nreference: {workload: plain}\nfactors: {workload: [plain, wrapped]}\nrepeats: 3\n"
        "workloads:\n"
        f"  plain: {{command: [sh, -c, 'echo t: 1.$$'], foms: {FOMS}}}\n"
        f"  wrapped: {{command: [sh, -c, 'echo t: 2.$$; echo u: 1'], foms: {other}}}\n",
    )
    said = (
        "wrapped is held against plain in figures of the same name and unit: t (s); u (s) of one alone cannot"
    )
    assert said in tare_here("plan", study).stdout
    done = tare_here("run", study, "--out", "c")
    assert done.returncode == 0, done.stderr
    assert "▲ worse" in done.stdout
    assert said in done.stdout
    compared = tare_here("compare", "c", "--json")
    assert {one["fom"] for one in json.loads(compared.stdout)["comparisons"]} == {"t"}
    assert tare_here("compare", "c", "--reference", "workload=wrapped").returncode == 0
    assert tare_here("report", "c").returncode == 0
    assert (tmp_path / "c/report/index.html").is_file()


def test_workloads_without_a_common_figure_are_not_held_against_each_other(
    tare_here: Tare, tmp_path: Path
) -> None:
    other = FOMS.replace("name: t", "name: u")
    study = write(
        tmp_path,
        "study: w\nreference: {workload: a}\nfactors: {workload: [a, b]}\nworkloads:\n"
        f"  a: {{command: a, foms: {FOMS}}}\n  b: {{command: b, foms: {other}}}\n",
    )
    refused = tare_here("plan", study)
    assert refused.returncode == 2
    assert "study.yaml:2:12: reference: b has no figure of the same name and unit as a" in refused.stderr


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("launcher: openmpi6", "site.yaml:4:20: platforms.bare.launcher: no launcher is called 'openmpi6'"),
        ("runtime: podmann, container: {image: x}", "site.yaml:4:19: platforms.bare.runtime: no runtime"),
        ("backend: slurmm", "site.yaml:4:19: platforms.bare.backend: no backend is called 'slurmm'"),
    ],
)
def test_a_plug_in_that_is_not_there_is_reported_at_its_line(
    tare_here: Tare, tmp_path: Path, platform: str, place: str
) -> None:
    write(tmp_path, f"site: x\nnodes: [localhost]\nplatforms:\n  bare: {{{platform}}}\n", "site.yaml")
    refused = tare_here("plan", write(tmp_path, f"study: s\nsite: site.yaml\nworkload: mine\n{MINE}"))
    assert refused.returncode == 2
    assert place.partition(":")[0] in refused.stderr
    assert place.partition(": ")[2] in refused.stderr


def test_a_command_that_cannot_be_made_is_reported_before_anything_is_run(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(tmp_path, "site: x\nnodes: [localhost]\nplatforms:\n  bare: {launcher: none}\n", "site.yaml")
    text = "study: s\nsite: site.yaml\nfactors:\n  workload:\n    - imb.allreduce\nranks: 4\n"
    study = write(tmp_path, text)
    refused = tare_here("plan", study)
    assert refused.returncode == 2
    assert "study.yaml:5:7: factors.workload[0]: imb.allreduce on platform" in refused.stderr
    assert "launcher 'none' starts one rank, and the case has 4" in refused.stderr


def test_a_hundred_thousand_runs_are_not_begun_by_a_slip(tare_here: Tare, tmp_path: Path) -> None:
    study = write(tmp_path, f"study: s\nworkload: mine\nrepeats: 100000\n{MINE}")
    refused = tare_here("run", study, "--out", "c")
    assert refused.returncode == 2
    assert "1 case × 100,000 blocks = 100,000 runs; look at 'tare plan', and add --yes" in refused.stderr
    assert not (tmp_path / "c").exists()


def test_a_faulty_workload_has_no_second_error(tare_here: Tare, tmp_path: Path) -> None:
    broken = MINE.replace("t: ([0-9.]+)", "(t")
    study = write(tmp_path, f"study: s\nfactors:\n  workload: [mine]\n  size: [1, 2]\n{broken}")
    refused = tare_here("plan", study)
    assert "is not a regex" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1, refused.stderr


def test_that_no_case_is_left_names_the_condition_and_its_place(tare_here: Tare, tmp_path: Path) -> None:
    study = write(
        tmp_path, f"study: s\nfactors:\n  workload: [mine]\n  size: [1, 2]\nwhere: size > 2\n{MINE}"
    )
    refused = tare_here("plan", study)
    assert "study.yaml:5:8: where: no case is left" in refused.stderr
    assert "'size > 2' leaves out all of 2 combinations" in refused.stderr


def test_too_many_nodes_point_at_the_line_that_asks_for_them(tare_here: Tare, tmp_path: Path) -> None:
    study = write(tmp_path, f"study: s\nnodes: 9\nfactors:\n  workload: [mine]\n  size: [1, 2]\n{MINE}")
    assert "study.yaml:2:8: nodes: 9 nodes, but site local has 1" in tare_here("plan", study).stderr


def test_reasons_of_what_is_left_out_are_kept(tare_here: Tare, tmp_path: Path) -> None:
    study = write(
        tmp_path,
        "study: s\nfactors:\n  workload: [mine]\n  size: [1, 2, 3, 4]\nexclude:\n"
        "  - {size: 2, because: too   small}\n  - {where: size > 3, because: too large}\n  - size == 3\n"
        + MINE,
    )
    made = json.loads(tare_here("plan", study, "--json").stdout)
    assert made["left_out"] == [
        {"condition": "size: 2", "because": "too small", "n_cases": 1},
        {"condition": "size > 3", "because": "too large", "n_cases": 1},
        {"condition": "size == 3", "because": "", "n_cases": 1},
    ]
    shown = tare_here("plan", study).stdout
    assert "left out: 1 case with size: 2: too small" in shown
    assert "left out: 1 case with size == 3: no reason given" in shown


@pytest.mark.parametrize("command", ["[env, X=1, prog]", "[wrap, prog]", "[calls]", "[prog]"])
def test_programs_of_a_platform_are_found_behind_others(
    tare_here: Tare, tmp_path: Path, command: str
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"prog": "echo t: 1", "wrap": 'exec "$@"', "calls": "prog"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    write(tmp_path, f"site: x\nnodes: [localhost]\nplatforms:\n  bare: {{path: '{folder}'}}\n", "site.yaml")
    mine = f"workloads: {{mine: {{command: {command}, foms: {FOMS}}}}}\n"
    text = f"study: s\nsite: site.yaml\nworkload: mine\nrepeats: 1\n{mine}"
    done = tare_here("run", write(tmp_path, text), "--out", "c")
    assert "1 of 1 run done" in done.stdout, done.stdout + done.stderr


IN_LAB = "study: s\nsite: lab\nplatform: intelmpi\n"


def test_binding_is_a_factor(tare_here: Tare, tmp_path: Path) -> None:
    mine = f"workloads: {{mine: {{command: [m], mpi: true, foms: {FOMS}}}}}\nworkload: mine\n"
    text = f"{IN_LAB}network: host\nnodes: 1\nranks: 1\nreference: {{bind: none}}\n{mine}"
    made = tare_here("plan", write(tmp_path, f"{text}factors: {{bind: [none, core]}}\n"), "--json")
    assert made.returncode == 0, made.stderr
    assert len(json.loads(made.stdout)["cases"]) == 2


def test_a_level_that_a_workload_overrides_is_not_dropped_silently(tare_here: Tare, tmp_path: Path) -> None:
    factors = "factors:\n  workload: [{ior: {transfer: 64KiB}}]\n  transfer: [64KiB, 1MiB]\n"
    refused = tare_here("plan", write(tmp_path, f"{IN_LAB}network: host\nnodes: 2\n{factors}"))
    assert refused.returncode == 2
    assert "study.yaml:8:21: factors.transfer[1]: transfer varies nothing" in refused.stderr
    assert "study.yaml:7) sets transfer itself" in refused.stderr


def test_networks_that_ranks_of_one_node_would_share_memory_in_place_of_are_refused(
    tare_here: Tare, tmp_path: Path
) -> None:
    factors = "factors: {network: [host, overlay]}\nreference: {network: host}\n"
    refused = tare_here(
        "plan", write(tmp_path, f"{IN_LAB}nodes: 1\nranks: 2\nworkload: imb.pingpong\n{factors}")
    )
    assert refused.returncode == 2
    assert (
        "study.yaml:7:21: factors.network[0]: network varies, and every case has one node" in refused.stderr
    )
    assert "add 'nodes: 2'" in refused.stderr


def test_a_plan_does_not_wait_for_what_only_statistics_need() -> None:
    code = "import sys, tare.cli.commands.plan; print({'numpy', 'polars'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_an_exclusion_that_leaves_nothing_out_is_noted(tare_here: Tare, study: Callable[..., Path]) -> None:
    rest = "exclude:\n  - {size: 2}\n  - {size: 2, because: twice}\n  - {size: 30}\n"
    shown = tare_here("plan", study(levels="[1, 2, 3]", rest=rest)).stdout
    assert "exclude[0]: '" not in shown
    assert "exclude[1]: 'size: 2' leaves out no case that none before it does; correct it" in shown
    assert "exclude[2]: 'size: 30' leaves out no case that none before it does; correct it" in shown


def test_a_setting_of_all_cases_that_a_factor_sets_anew_is_noted(
    tare_here: Tare, study: Callable[..., Path]
) -> None:
    path = study(levels="[1, 2]", rest="args: --fast\nthreads: 2\n")
    assert "no case has it" not in tare_here("plan", path).stdout
    path.write_text(path.read_text().replace("factors:\n", "factors:\n  args: [none, --slow]\n"))
    shown = tare_here("plan", path).stdout
    assert "args: --fast: no case has it: each level of factor args sets args anew; drop one" in shown
    assert shown.count("no case has it") == 1
