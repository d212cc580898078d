"""Campaigns that go on later, on a machine that has changed; the program is told its speed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Tare
from support.journals import summed
from tare.core.attempt import State
from tare.storage.campaign import read_campaign
from truth.campaigns import Truth
from truth.campaigns import write as write_truth
from truth.noise import lognormal

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a study whose levels are all the same program, and the speed of the machine."""

    def write(*levels: str, speed: float = 1.0, first: str = "", repeats: int = 6) -> Path:
        (tmp_path / "speed").write_text(f"{speed}\n")
        (tmp_path / "program").write_text(f"{first}\necho value: $(cat {tmp_path}/speed)\n")
        path = tmp_path / "study.yaml"
        path.write_text(
            f"""\
study: later
reference: {{level: a}}
workloads:
  later:
    command: [sh, {tmp_path}/program, "{{level}}"]
    parameters: {{level: a}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
factors:
  workload: [later]
  level: [{", ".join(levels)}]
repeats: {repeats}
"""
        )
        return path

    return write


def rows(tare_here: Tare, *options: str) -> dict[str, dict[str, object]]:
    """Return what `tare compare` says of each contender."""
    said = tare_here("compare", "c", "--json", *options)
    assert said.returncode == 0, said.stderr
    return {one["contender"]["level"]: one for one in json.loads(said.stdout)["comparisons"]}


def test_a_level_added_with_extend_runs_beside_the_reference_again(
    tare_here: Tare, write: Write, tmp_path: Path
) -> None:
    tare_here("run", write("a", "b"), "--out", "c")
    done = tare_here("run", write("a", "b", "c", speed=1.2), "--out", "c", "--extend")
    assert done.returncode == 0, done.stderr
    assert "6 runs left; 6 runs of cases they are compared with are made once more beside them" in done.stdout
    found = rows(tare_here)
    assert [one["n_blocks"] for one in found.values()] == [6, 6]
    assert [one["ratio"] for one in found.values()] == [1, 1]
    levels = {case.id: case.settings["level"] for case in read_campaign(tmp_path / "c").plan.cases}
    ran = [(one.session, levels[one.case]) for one in read_campaign(tmp_path / "c").measured()]
    assert sorted(ran) == sorted([(1, "a"), (1, "b")] * 6 + [(2, "a"), (2, "c")] * 6)
    again = tare_here("run", "c")
    assert "once more" not in again.stdout
    assert len(read_campaign(tmp_path / "c").measured()) == 24


def test_runs_tried_again_bring_their_reference(tare_here: Tare, write: Write, tmp_path: Path) -> None:
    fails = f"[ $1 = b ] && [ -e {tmp_path}/broken ] && exit 3"
    (tmp_path / "broken").touch()
    tare_here("run", write("a", "b", first=fails), "--out", "c")
    assert {one.state for one in read_campaign(tmp_path / "c").attempts} == {State.DONE, State.FAILED}
    (tmp_path / "broken").unlink()
    (tmp_path / "speed").write_text("1.2\n")
    done = tare_here("run", "c", "--retry-failed")
    assert "6 runs left; 6 runs of cases they are compared with are made once more" in done.stdout
    found = rows(tare_here)["b"]
    assert (found["ratio"], found["n_blocks"]) == (1, 6)


def test_a_block_that_was_cut_short_goes_on_at_once_and_nothing_is_run_twice(
    tare_here: Tare, write: Write, tmp_path: Path
) -> None:
    tare_here("run", write("a", "b", "c", repeats=3), "--out", "c")
    _cut(tmp_path / "c", n_ended=5)
    done = tare_here("run", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    assert len(campaign.measured()) == 9
    assert [(one.number, one.n_resumed) for one in campaign.sessions] == [(1, 1)]
    assert {one["n_blocks"] for one in rows(tare_here).values()} == {3}


def test_a_block_that_was_cut_short_begins_anew_after_a_night(
    tare_here: Tare, write: Write, tmp_path: Path
) -> None:
    tare_here("run", write("a", "b", "c", repeats=3), "--out", "c")
    _cut(tmp_path / "c", n_ended=5)
    _move(tmp_path / "c" / "journal.jsonl", by_s=-40000)
    (tmp_path / "speed").write_text("1.2\n")
    done = tare_here("run", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "once more beside" in done.stdout
    found = rows(tare_here)
    assert {(one["ratio"], one["n_blocks"]) for one in found.values()} == {(1, 3)}
    assert [one.number for one in read_campaign(tmp_path / "c").sessions] == [1, 2]


def _cut(campaign: Path, n_ended: int) -> None:
    """Leave the campaign as it was when so many runs had ended."""
    lines = (campaign / "journal.jsonl").read_text().splitlines()
    ends = [number for number, line in enumerate(lines, 1) if '"event":"ended"' in line]
    (campaign / "journal.jsonl").write_text("\n".join(lines[: ends[n_ended - 1]]) + "\n")
    kept = {one.folder for one in read_campaign(campaign).attempts}
    for folder in campaign.glob("attempts/*/*"):
        if str(folder.relative_to(campaign)) not in kept:
            shutil.rmtree(folder)


def _move(journal: Path, by_s: float, until: float = 0.0, until_by_s: float = 0.0) -> None:
    """Move all that the journal tells to another time; what is before `until` by `until_by_s`."""
    moved = []
    for line in journal.read_text().splitlines():
        event = json.loads(line)
        for holder in (event, event.get("attempt", {}) if isinstance(event.get("attempt"), dict) else {}):
            for name in ("at", "started_at"):
                if holder.get(name) is not None:
                    holder[name] += until_by_s if holder[name] < until else by_s
        moved.append(json.dumps(event))
    journal.write_text(summed("\n".join(moved)))


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """Return a campaign whose third level never ran beside the others, on a machine that got 20 % slower."""
    truth = Truth(
        factors={"network": ("a", "b", "c")},
        noise=lognormal(0.002),
        blocks=6,
        late=("network", "c"),
        late_slower=1.2,
        late_reference=False,
    )
    return write_truth(truth, tmp_path / "apart")


def test_sides_that_never_ran_together_are_reported_with_the_cure(tare_here: Tare, apart: Path) -> None:
    said = tare_here("compare", apart).stdout
    row = next(line for line in said.splitlines() if line.startswith("c "))
    assert "– not measured together" in row
    assert "%" not in row
    assert "--extend --blocks 9' runs all cases beside each other in 3 more blocks; --unpaired" in said
    told = {
        one["contender"]["network"]: one
        for one in json.loads(tare_here("compare", apart, "--json").stdout)["figures"]
    }
    assert (told["c"]["ratio"], told["c"]["is_apart"], told["b"]["is_apart"]) == (None, True, False)


def test_what_did_not_run_together_is_compared_where_asked_and_marked_in_each_output(
    tare_here: Tare, apart: Path
) -> None:
    said = tare_here("compare", apart, "--unpaired").stdout
    assert "▲ worse (unpaired): the sides did not run together" in said
    assert "paired over n blocks, or unpaired over n runs" in said
    assert "the machine may have changed between the sessions, and that would look the same." in said
    told = json.loads(tare_here("compare", apart, "--unpaired", "--json").stdout)["figures"]
    assert {one["contender"]["network"]: one["is_paired"] for one in told} == {"b": True, "c": False}
    tare_here("report", apart, "--unpaired", "--format", "markdown", "--format", "html")
    page = (apart / "report" / "index.html").read_text()
    assert "worse (unpaired)" in page
    assert "the machine may have changed between" in page
    summary = (apart / "report" / "summary.md").read_text()
    assert "the machine may have changed between" in summary


def test_the_report_shows_which_sides_never_ran_together(tare_here: Tare, apart: Path) -> None:
    tare_here("report", apart, "--format", "markdown", "--format", "html")
    for file in ("index.html", "summary.md"):
        text = (apart / "report" / file).read_text()
        assert "was not measured together with a" in text
        assert "20 %" not in text.replace("\u202f", " ")


def test_a_rule_on_sides_that_never_ran_together_is_undecided(tare_here: Tare, apart: Path) -> None:
    rule = ("--fail-if", "overhead(network=c) > 5 %")
    said = tare_here("check", apart, *rule)
    assert said.returncode == 0, said.stderr
    assert "undecided" in said.stdout
    assert "not measured together: the sides have no run in one block of one session" in said.stdout
    asked = tare_here("check", apart, *rule, "--unpaired")
    assert asked.returncode == 1
    assert "✗ fail (unpaired)" in asked.stdout
    assert "the machine may have changed between" in asked.stdout


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "value: (\\S+)",
            "value: +(\\S+)",
            "workloads.later.foms[0].regex: 'value: (\\\\S+)', now 'value: +(",
        ),
        ("command: [sh,", "command: [bash,", "study.yaml: workloads.later.command[0]: 'sh', now 'bash'"),
        ("repeats: 2", "repeats: 1", "study.yaml: repeats: 2, now 1"),
        ("level: [a, b]", "level: [a, c]", "study.yaml: factors.level[1]: 'b', now 'c'"),
    ],
)
def test_a_study_that_changed_is_reported_with_what_changed(
    tare_here: Tare, write: Write, tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = write("a", "b", repeats=2)
    tare_here("run", path, "--out", "c")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    done = tare_here("run", path, "--out", "c")
    assert done.returncode == 2
    assert told in done.stderr


def test_pairs_separated_by_a_night_and_failed_runs_are_planned_shown_and_run_with_their_warm_up(
    tare_here: Tare, write: Write, tmp_path: Path
) -> None:
    """Block 1 has a night in it, and b fails once in block 3; a new session mends both, and warms up."""
    fails = (
        f"[ $1 = b ] && [ $(cat {tmp_path}/n 2>/dev/null | wc -c) = 3 ] && printf x >>{tmp_path}/n && exit 3"
    )
    study = write("a", "b", first=f"{fails}\n[ $1 = b ] && printf x >>{tmp_path}/n", repeats=3)
    study.write_text(f"{study.read_text()}warmup: 1\n")
    tare_here("run", study, "--out", "c")
    attempts = read_campaign(tmp_path / "c").measured()
    assert len(attempts) == 5
    first, *later = (one.started_at or 0 for one in attempts)
    _move(tmp_path / "c/journal.jsonl", by_s=-40000, until=(first + later[0]) / 2 + 1e-3, until_by_s=-80000)
    assert [one.part for one in read_campaign(tmp_path / "c").measured()] == [0, 1, 0, 0, 0]
    plain = json.loads(tare_here("plan", "c", "--json").stdout)["rest"]
    assert (plain["left"], plain["again"], plain["parted"], plain["warmup"]) == (0, 2, 2, 2)
    said = tare_here("plan", "c", "--retry-failed").stdout
    assert "1 run left, 2 once more since a long time lay within their block, 1 once more beside them" in said
    assert "; 2 warm-up runs before" in said
    assert "to run it: tare run c --retry-failed" in said
    done = tare_here("run", "c", "--retry-failed")
    assert "1 run left; 2 runs are made once more, since a long time lay within their block" in done.stdout
    assert "; 1 run of cases they are compared with is made once more beside them" in done.stdout
    assert "; 2 warm-up runs before, about " in done.stdout
    assert rows(tare_here)["b"]["n_blocks"] == 3
    assert "nothing is left" in tare_here("plan", "c").stdout


def test_plan_shows_what_an_extension_would_run_and_run_again(
    tare_here: Tare, write: Write, tmp_path: Path
) -> None:
    tare_here("run", write("a", "b", repeats=3), "--out", "c")
    study = write("a", "b", "z", repeats=4)
    before = (tmp_path / "c/journal.jsonl").read_bytes()
    rest = json.loads(tare_here("plan", study, "--out", "c", "--json").stdout)["rest"]
    assert (rest["session"], rest["left"], rest["again"], rest["needs_extend"]) == (2, 3 + 3, 3, True)
    assert [(one["left"], one["again"]) for one in rest["cases"]] == [(1, 3), (1, 0), (4, 0)]
    said = tare_here("plan", study, "--out", "c")
    assert "6 runs left, 3 once more beside them: only what ran together is compared" in said.stdout
    assert f"to run it: tare run {study} --out c --extend" in said.stdout
    assert (tmp_path / "c/journal.jsonl").read_bytes() == before
    tare_here("run", study, "--out", "c", "--extend")
    assert len([one for one in read_campaign(tmp_path / "c").attempts if one.session == 2]) == 9
    assert "nothing is left" in tare_here("plan", "c").stdout
