"""Commands before and after the programs of each run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from cli.conftest import Tare
from tare.core.attempt import Attempt, State
from tare.core.job import Exit
from tare.core.scheduler import JobResult
from tare.core.telemetry import Epoch
from tare.execution.job_spans import without_around
from tare.storage.campaign import read_campaign

STUDY = """\
study: around
platform: bare
workloads:
  solve:
    command: [sh, -c, 'echo "time $(cat mesh.dat)"; echo 3 >result']
    foms: [{name: time, unit: s, better: lower, regex: 'time (.*)'}]
workload: solve
repeats: 1
retries: 0
"""


def attempts(tare_here: Tare, tmp_path: Path, around: str) -> tuple[list[Attempt], str]:
    (tmp_path / "study.yaml").write_text(STUDY + around)
    (tmp_path / "mesh.dat").write_text("3\n")
    done = tare_here("run", "study.yaml", "--no-boost", "--telemetry", "off", "--out", "c", cwd=tmp_path)
    return list(read_campaign(tmp_path / "c").attempts), done.stdout + done.stderr


def test_they_run_around_the_program_and_their_time_is_none_of_its(tare_here: Tare, tmp_path: Path) -> None:
    around = "prologue: [cp ../../../../mesh.dat ., sleep 1]\nepilogue: [[cmp, mesh.dat, result], sleep 1]\n"
    ((one,), _) = attempts(tare_here, tmp_path, around)
    assert one.state is State.DONE, one.reason
    assert [series.values for series in one.series if series.fom == "time"] == [[3.0]]
    assert 0 <= one.elapsed_s < 1
    work = tmp_path / "c" / one.folder
    assert {path.name for path in work.glob("*.stdout")} == {
        f"{kind}-{number}.stdout" for kind in ("prologue", "epilogue") for number in (1, 2)
    }


@pytest.mark.parametrize(
    ("around", "reason", "check", "is_infrastructure"),
    [
        (
            "prologue: ['true', cp /nowhere/mesh.dat .]\n",
            "command 2 of the prologue: exit code 1: cp: cannot stat '/nowhere/mesh.dat'",
            "prologue",
            True,
        ),
        (
            "prologue: [cp ../../../../mesh.dat .]\nepilogue: [cmp result /nowhere]\n",
            "command 1 of the epilogue: exit code 2: cmp: /nowhere",
            "epilogue",
            False,
        ),
        (
            "prologue: [cp ../../../../mesh.dat ., touch '$(reboot)']\nepilogue: [rm '$(reboot)', 'false']\n",
            "command 2 of the epilogue: exit code 1",
            "epilogue",
            False,
        ),
    ],
)
def test_a_failure_has_its_own_words_and_the_run_does_not_count(
    tare_here: Tare, tmp_path: Path, around: str, reason: str, check: str, is_infrastructure: bool
) -> None:
    ((one,), _) = attempts(tare_here, tmp_path, around)
    assert one.state is State.FAILED
    assert one.reason.startswith(reason)
    assert (one.check, one.is_infrastructure, one.series) == (check, is_infrastructure, [])


@pytest.mark.parametrize(
    ("around", "fault"),
    [
        ("prologue: ['sync; reboot', 'cp a > b']\n", "study.yaml:10:28: prologue[1]: '>' needs a shell"),
        ("epilogue: [cmp 'a]\n", "study.yaml:10:12: epilogue[0]: No closing quotation; close the quotes"),
        ("prologue: [[]]\n", "study.yaml:10:12: prologue[0]: the command is empty"),
        ("prologue: ['']\n", "study.yaml:10:12: prologue[0]: expected text or a list, not ''\n"),
        ("prologue: ['cp {mesh} .']\n", "study.yaml:10:11: prologue: solve: prologue[0]: {mesh} is neither"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    tare_here: Tare, tmp_path: Path, around: str, fault: str
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY + around)
    done = tare_here("plan", "study.yaml", cwd=tmp_path)
    assert done.returncode != 0
    assert fault in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_case_has_another_id_with_them_and_its_old_one_without(tare_here: Tare, tmp_path: Path) -> None:
    found = []
    for around in ("", "prologue: ['true']\n", "epilogue: ['true']\n"):
        (tmp_path / "study.yaml").write_text(STUDY + around)
        found.append(msgspec.json.decode(tare_here("plan", "study.yaml", "--json", cwd=tmp_path).stdout))
    assert len({one["cases"][0]["id"] for one in found}) == 3
    assert all("prologue" not in one["cases"][0] for one in found)


OWN = """\
study: around
platform: bare
prologue: [[sh, -c, 'echo study >>order']]
epilogue: [[sh, -c, 'echo study again >>order']]
workloads:
  solve:
    prologue: [[sh, -c, 'echo {ranks} solve >>order']]
    command: [sh, -c, 'echo program >>order; echo time 1']
    epilogue: [[sh, -c, 'echo solve again >>order'], {last}]
    foms: [{{name: time, unit: s, better: lower, regex: 'time (.*)'}}]
  other:
    command: [sh, -c, 'echo other >>order; echo time 1']
    foms: [{{name: time, unit: s, better: lower, regex: 'time (.*)'}}]
factors: {{workload: [solve, other]}}
repeats: 1
retries: 0
"""


def test_those_of_a_workload_are_inside_of_those_of_the_study(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(OWN.format(ranks="{ranks}", last="'true'"))
    done = tare_here("run", "study.yaml", "--no-boost", "--telemetry", "off", "--out", "c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    campaign = read_campaign(tmp_path / "c")
    names = {case.id: case.workload for case in campaign.plan.cases}
    found = {
        names[one.case]: (tmp_path / "c" / one.folder / "order").read_text().splitlines()
        for one in campaign.attempts
    }
    assert found == {
        "solve": ["study", "1 solve", "program", "solve again", "study again"],
        "other": ["study", "other", "study again"],
    }


def test_a_failure_of_those_of_a_workload_is_told_by_its_number(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(OWN.format(ranks="{ranks}", last="'false'"))
    tare_here("run", "study.yaml", "--no-boost", "--telemetry", "off", "--out", "c", cwd=tmp_path)
    reasons = {one.reason for one in read_campaign(tmp_path / "c").attempts}
    assert reasons == {"", "command 2 of the epilogue: exit code 1, and nothing was printed"}


@pytest.mark.parametrize(
    ("ranks", "last", "fault"),
    [
        ("{ranks}", "'cp a > b'", "study.yaml:9:54: workloads.solve.epilogue[1]: '>' needs a shell"),
        ("{ranks}", "[]", "study.yaml:9:54: workloads.solve.epilogue[1]: the command is empty"),
        ("{size}", "'true'", "solve: prologue[0]: {size} is neither a parameter nor a setting"),
    ],
)
def test_mistakes_in_those_of_a_workload_are_told_before_anything_runs(
    tare_here: Tare, tmp_path: Path, ranks: str, last: str, fault: str
) -> None:
    (tmp_path / "study.yaml").write_text(OWN.format(ranks=ranks, last=last))
    done = tare_here("plan", "study.yaml", cwd=tmp_path)
    assert done.returncode != 0
    assert fault in done.stderr


def test_their_time_in_a_job_is_none_of_the_programs_either() -> None:
    names = ("prologue-1", "build", "run", "epilogue-1")
    epochs = tuple(Epoch(name, 10.0 * n, 10.0 * n + 4) for n, name in enumerate(names))
    found = without_around(JobResult(name="t", exit=Exit(code=0, elapsed_s=16.0), epochs=epochs))
    assert [one.stage for one in found.epochs] == ["build", "run"]
    assert found.exit.elapsed_s == 8.0
