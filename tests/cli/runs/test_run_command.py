"""`tare run`, `plan` and `status`, as their users see them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare
from cli.killed_campaigns import ended_runs
from support.synthetic import make_campaign, write_campaign
from tare import plan_study
from tare.storage.campaign import read_campaign

Study = Callable[..., Path]


def test_a_campaign_goes_on_when_the_reader_of_its_output_has_gone(study: Study, tmp_path: Path) -> None:
    command = f"{TARE} run {study(repeats=10)} --out c | head -2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120
    )
    assert len(done.stdout.splitlines()) == 2
    assert done.returncode == 0, done.stderr
    assert len(ended_runs(tmp_path / "c")) == 20


def test_failed_and_invalid_runs_are_reported_and_exit_with_1(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    path = study("[ {size} = 1 ] && exit 9; echo nothing", repeats=1)
    done = tare_here("run", path, "--out", "c")
    assert done.returncode == 1
    assert "cli at local: 0 of 2 runs done, 1 failed, 1 invalid" in done.stdout
    assert "exit code 9" in done.stdout
    assert "once that is mended: tare run c --retry-failed\n" in done.stdout
    counts = json.loads(tare_here("status", "c", "--json").stdout)["counts"]
    assert (counts["failed"], counts["invalid"]) == (1, 1)


def test_packets_that_could_not_be_counted_cost_no_run_and_are_reported_once(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    (tmp_path / "site.yaml").write_text(
        "site: here\nnodes: [localhost]\nplatforms: {bare: {}}\nnetworks: {lost: {interface: no-such-if0}}\n"
    )
    path = study(repeats=1, rest="site: site.yaml\ntelemetry: {packets: true}")
    done = tare_here("run", path, "--out", "c")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("packets not all counted") == 1
    assert "  2 × packets not all counted: " in done.stdout


def test_without_a_network_it_is_reported_before_the_first_run_that_no_packets_are_counted(
    tare_here: Tare, study: Study
) -> None:
    done = tare_here("run", study(repeats=1), "--packets", "--out", "c")
    assert done.returncode == 0, done.stderr
    assert "no case has one: none will be counted" in done.stdout.splitlines()[1]


def test_failures_that_differ_by_a_process_id_are_reported_as_one(tare_here: Tare, study: Study) -> None:
    done = tare_here("run", study('echo "prog[$$]: no such thing" >&2; exit 9', repeats=1), "--out", "c")
    assert "  2 × failed: exit code 9: prog: no such thing\n" in done.stdout


@pytest.mark.parametrize(
    "script", ["echo value: nan", "echo value: inf", "echo value:", "echo value: 1; echo value: 2", "true"]
)
def test_output_that_is_not_one_number_never_becomes_one(tare_here: Tare, study: Study, script: str) -> None:
    assert tare_here("run", study(script, repeats=1, levels="[1]"), "--out", "c").returncode == 1
    assert len(tare_here("export", "c").stdout.splitlines()) <= 1


def test_a_finished_campaign_is_not_run_again(tare_here: Tare, study: Study, tmp_path: Path) -> None:
    path = study("echo x >> ../../../../calls; echo value: 1")
    assert tare_here("run", path, "--out", "c").returncode == 0
    assert tare_here("run", path, "--out", "c").returncode == 0
    assert (tmp_path / "calls").read_text() == "x\n" * 10


def test_a_changed_study_is_refused_until_it_is_to_extend(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    assert tare_here("run", study(), "--out", "c").returncode == 0
    grown = study(levels="[1, 2, 3]", repeats=6)
    refused = tare_here("run", grown, "--out", "c")
    assert refused.returncode == 2
    assert "2 cases × 5 blocks; now 3 cases × 6 blocks" in refused.stderr
    assert "--extend" in refused.stderr
    assert tare_here("run", grown, "--out", "c", "--extend").returncode == 0
    assert len(ended_runs(tmp_path / "c")) == 18
    again = {run for run, n in ended_runs(tmp_path / "c").items() if n == 2}
    reference = next(
        case.id for case in read_campaign(tmp_path / "c").plan.cases if case.settings["size"] == 1
    )
    assert again == {(block, reference) for block in range(1, 6)}, "beside the new level, and nothing else"
    assert max(ended_runs(tmp_path / "c").values()) == 2
    lost = tare_here("run", study(levels="[1, 3]", repeats=6), "--out", "c", "--extend")
    assert lost.returncode == 2
    assert "holds 1 case that the study no longer has" in lost.stderr


def test_a_campaign_folder_and_another_one_contradict_each_other(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    """The campaign was continued, and --out ignored without a word."""
    given = study("echo value: 1")
    assert tare_here("run", given, "--out", "c").returncode == 0
    ended = tare_here("run", "c", "--out", "other")
    assert (ended.returncode, "c is a campaign folder itself; leave out --out" in ended.stderr) == (2, True)
    assert not (tmp_path / "other").exists()
    assert tare_here("run", "c", "--out", tmp_path / "c").returncode == 0


@pytest.mark.parametrize("command", ["run", "calibrate"])
def test_a_file_is_no_campaign_folder(tare_here: Tare, study: Study, tmp_path: Path, command: str) -> None:
    ended = tare_here(command, given := study("echo value: 1"), "--out", given)
    assert (ended.returncode, "is a file" in ended.stderr) == (2, True)


def test_a_plan_starts_nothing_and_counts_its_runs(tare_here: Tare, study: Study, tmp_path: Path) -> None:
    path = study("touch started")
    planned = json.loads(tare_here("plan", path, "--json").stdout)
    assert planned["schema"] == "tare.plan/1"
    assert planned["runs"] == 10
    assert [case["size"] for case in planned["cases"]] == [1, 2]
    assert "touch started" in tare_here("plan", path, "--show").stdout
    assert sorted(one.name for one in tmp_path.iterdir()) == ["study.yaml"]


def test_the_order_that_is_planned_is_the_order_that_is_run(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    path = study(levels=str(list(range(1, 8))), repeats=3)
    planned = [line.split()[2] for line in tare_here("plan", path, "--order").stdout.splitlines()]
    tare_here("run", path, "--out", "c")
    assert [case for _, case in ended_runs(tmp_path / "c")] == planned


def test_a_folder_that_is_no_campaign_is_named(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for command in ("status", "compare", "report", "export", "scaling", "curves"):
        for folder in ("empty", "nowhere"):
            done = tare_here(command, folder)
            assert done.returncode == 2
            assert "not a campaign folder" in done.stderr


def test_a_campaign_whose_plan_was_lost_is_damaged(tare_here: Tare, study: Study, tmp_path: Path) -> None:
    tare_here("run", study(repeats=1, levels="[1]"), "--out", "c")
    (tmp_path / "c/plan.json").unlink()
    done = tare_here("status", "c")
    assert done.returncode == 3
    assert "c/plan.json: No such file or directory; restore it from a copy" in done.stderr


def test_status_does_not_wait_for_what_only_statistics_need(tmp_path: Path) -> None:
    write_campaign(make_campaign(), tmp_path / "c")
    code = (
        "import sys; from tare.cli.main import main\n"
        "try: main(['status', 'c'])\n"
        "finally: print({'numpy', 'polars', 'scipy'} & sys.modules.keys())"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "10 of 10 runs done" in done.stdout
    assert done.stdout.endswith("\nset()\n")


def test_a_spent_budget_is_reported_and_is_no_failure(tare_here: Tare, study: Study, tmp_path: Path) -> None:
    path = study("echo value: $(date +%N)")
    limited = "{min: 3, max: 9, until: 1 %, budget: 8 runs}"
    path.write_text(path.read_text().replace("repeats: 5", f"repeats: {limited}"))
    done = tare_here("run", path, "--out", "c")
    assert done.returncode == 0, done.stderr
    assert "the budget of 8 runs has no room for the next runs" in done.stdout
    assert "not yet known within ± 1 %: 1 of 1 case" in done.stdout
    status = json.loads(tare_here("status", "c", "--json").stdout)
    assert status["budget_spent"] is True
    assert [one["n_blocks"] for one in status["unsettled"]] == [4]
    assert len(ended_runs(tmp_path / "c")) == 8
    path.write_text(path.read_text().replace("8 runs", "10 runs"))
    assert tare_here("run", path, "--out", "c", "--extend").returncode == 0
    assert len(ended_runs(tmp_path / "c")) == 10


def test_sizes_are_shown_as_a_study_writes_them_and_are_read_back(tare_here: Tare, study: Study) -> None:
    path = study(repeats=1, levels="[1KiB, 1000]")
    path.write_text(path.read_text().replace("{size: 1}\n    foms", "{size: {kind: bytes}}\n    foms"))
    path.write_text(path.read_text().replace("reference: {size: 1}", "reference: {size: 1KiB}"))
    assert "echo      1KiB  reference\n" in tare_here("plan", path).stdout
    assert "echo size=1KiB  done" in tare_here("run", path, "--out", "c").stdout
    assert "echo size=1000  done" in tare_here("status", "c", "--all").stdout
    assert "against 1KiB" in tare_here("compare", "c").stdout
    assert "against 1000" in tare_here("compare", "c", "--reference", "size=1kB").stdout
    assert "size is one of 1KiB, 1000" in tare_here("compare", "c", "--reference", "size=1MiB").stderr
    assert "0 facts differ" in tare_here("environment", "diff", "c:size=1KiB", "c:size=1024").stdout
    assert "size is one of 1KiB, 1000" in tare_here("environment", "show", "c:size=1MiB").stderr


def test_an_environment_is_asked_for_by_settings_of_its_runs(tare_here: Tare, study: Study) -> None:
    tare_here("run", study(repeats=1), "--out", "c:1")
    shown = json.loads(tare_here("environment", "show", "c:1:size=1,nodes=1", "--json").stdout)
    assert shown["hosts"] == ["localhost"]
    assert tare_here("environment", "show", "c:1:localhost").returncode == 0
    refused = tare_here("environment", "show", "c:1:size=1,nodes=7").stderr
    assert "size is one of 1, 2, and nodes is one of 1" in refused
    for which in ("size=1,colour=red", "n9"):
        refused = tare_here("environment", "show", f"c:1:{which}").stderr
        assert "its hosts are localhost, and its settings workload, platform" in refused


def test_a_container_without_its_root_file_system_is_reported_before_anything_is_run(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    platform = "{runtime: charliecloud, container: {rootfs: '${TARE_ROOTFS}/debian'}}"
    (tmp_path / "site.yaml").write_text(f"site: s\nnodes: [localhost]\nplatforms: {{box: {platform}}}\n")
    env = {"TARE_ROOTFS": str(tmp_path / "none")}
    done = tare_here("run", study(rest="site: site.yaml"), "--out", "c", env=env)
    assert done.returncode == 3
    assert "none/debian; build it with: tare lab rootfs\n" in done.stderr
    assert not (tmp_path / "c").exists()
    looked = tare_here("doctor", "--site", "site.yaml", env=env)
    assert looked.returncode == 3
    assert "FAULT    box: no root file system is in" in looked.stdout


def test_a_plan_reports_what_it_is_expected_to_cost(tare_here: Tare, study: Study, tmp_path: Path) -> None:
    path = study("sleep 0.1; echo value: $(date +%N)", repeats=3, rest="timeout: 1 min")
    bound = json.loads(tare_here("plan", path, "--json").stdout)["cost"]
    assert (bound["most"]["hours"], bound["expected"]) == (0.1, None)
    assert tare_here("run", path, "--out", "c").returncode == 0
    path.write_text(path.read_text().replace("repeats: 3", "repeats: {min: 3, max: 12, until: 1 %}"))
    cost = json.loads(tare_here("plan", path, "--json", "--like", "c").stdout)["cost"]
    assert cost["expected"]["runs"] == 24, "as noisy as can be"
    assert 0.1 <= cost["expected"]["hours"] * 3600 / 24 < 60
    shown = tare_here("plan", path, "--like", "c").stdout
    assert "expected after c: 24 runs" in shown
    assert "until every ratio to the reference is known within ± 1 %" in shown
    path = study(levels="[3, 4]")
    path.write_text(path.read_text().replace("reference: {size: 1}", "reference: {size: 3}"))
    other = tare_here("plan", path, "--like", "c")
    assert other.returncode == 2
    assert "c measured none of these cases" in other.stderr


def test_a_campaign_goes_on_with_the_blocks_that_it_was_begun_with(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    path = study(repeats=5)
    assert tare_here("run", path, "--out", "c", "--blocks", "2").returncode == 0
    again = tare_here("run", "c")
    assert (again.returncode, again.stderr) == (0, "")
    assert len(ended_runs(tmp_path / "c")) == 4


@pytest.mark.parametrize("begun", [2, 8])
def test_a_campaign_is_planned_with_the_blocks_that_it_was_begun_with(
    tare_here: Tare, study: Study, tmp_path: Path, begun: int
) -> None:
    path = study(repeats=5)
    assert tare_here("run", path, "--out", "c", "--blocks", str(begun)).returncode == 0
    planned = tare_here("plan", "c")
    assert (planned.returncode, planned.stderr) == (0, "")
    assert f"{begun} blocks" in planned.stdout
    assert "nothing is left" in planned.stdout
    assert plan_study(tmp_path / "c").n_runs == 2 * begun


def test_a_study_with_fewer_blocks_than_its_campaign_is_told_the_cure(tare_here: Tare, study: Study) -> None:
    path = study(repeats=2)
    assert tare_here("run", path, "--out", "c", "--blocks", "3").returncode == 0
    for command in ("run", "plan"):
        refused = tare_here(command, path, "--out", "c")
        assert refused.returncode == 2
        assert "c has 3 blocks planned; the study now asks for 2; add --blocks 3, or " in refused.stderr


def test_what_is_hardly_known_at_all_is_not_reported_to_the_last_digit(tare_here: Tare, study: Study) -> None:
    path = study("echo x >> ../../../../calls; echo value: $(wc -l < ../../../../calls)", repeats=3)
    path.write_text(path.read_text().replace("repeats: 3", "repeats: {min: 3, max: 3, until: 1 %}"))
    assert "is not even known within ± 1000 % after 3 blocks" in tare_here("run", path, "--out", "c").stdout


def test_an_agent_that_is_not_there_is_reported_with_the_cure(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(
        "site: s\nnodes: [n1, n2]\nagent: [/no/such/agent]\nplatforms: {mpich: {launcher: mpich}}\n"
    )
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: s\nsite: site.yaml\nplatform: mpich\nnodes: 2\nfactors: {workload: [imb.allreduce]}\n"
    )
    ended = tare_here("run", study, "--out", "c")
    assert ended.returncode == 3
    assert "n1 could not be reached: /no/such/agent: No such file or directory; 'agent' in" in ended.stderr
