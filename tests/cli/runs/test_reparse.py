"""`tare reparse`: figures that a study read wrong are read anew from what the runs printed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from cli.conftest import Tare
from tare.core.attempt import Attempt, State
from tare.core.site import Platform
from tare.report.history import history
from tare.storage.campaign import JOURNAL, read_campaign
from tare.storage.journal import AttemptEnded, read_events, write_line
from truth.templates import plain

WRONG, RIGHT = "value: (\\\\S+)", "^value: (\\\\S+)"
STUDY = """\
study: read
factors: {{workload: [say], text: [a, b]}}
reference: {{text: a}}
repeats: 3
workloads:
  say:
    command: [sh, -c, "echo value: 1.5; echo my value: 7; test {{text}} = {fails} && exit 3; true"]
    parameters: {{text: {{default: a}}}}
    foms: [{{name: value, unit: {unit}, better: lower, regex: "{regex}"}}]
"""


def write(path: Path, regex: str = WRONG, *, unit: str = "s", fails: str = "none") -> Path:
    path.write_text(STUDY.format(regex=regex, unit=unit, fails=fails))
    return path


@pytest.fixture
def misread(tmp_path: Path, tare_here: Tare) -> Path:
    """Return a campaign all of whose runs are invalid, since its regex matches two kinds of lines."""
    campaign = tmp_path / "misread"
    ended = tare_here("run", write(tmp_path / "wrong.yaml"), "--out", campaign)
    assert ended.returncode == 1
    assert "6 invalid" in ended.stdout
    assert f"tare reparse {campaign} STUDY --out DIR" in ended.stdout
    return campaign


def contents(folder: Path) -> dict[str, str]:
    files = (one for one in sorted(folder.rglob("*")) if one.is_file())
    return {str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def rewrite(campaign: Path, change: Callable[[Attempt], Attempt]) -> None:
    """Write the journal of `campaign` again, each ended attempt as `change` returns it."""
    events = read_events(campaign / JOURNAL)
    changed = [AttemptEnded(change(one.attempt)) if isinstance(one, AttemptEnded) else one for one in events]
    (campaign / JOURNAL).write_bytes(b"".join(map(write_line, changed)))


def test_what_a_wrong_regex_left_invalid_is_done_and_nothing_runs(
    misread: Path, tmp_path: Path, tare_here: Tare
) -> None:
    before = contents(misread)
    new = tmp_path / "new"
    ended = tare_here("reparse", misread, write(tmp_path / "right.yaml", RIGHT), "--out", new)
    assert ended.returncode == 0, ended.stderr
    assert f"{new}: 6 runs of {misread} read anew: 6 done, were invalid" in ended.stdout
    assert contents(misread) == before, "the old campaign stays as it is"
    old, found = read_campaign(misread), read_campaign(new)
    assert [one.series[0].values for one in found.attempts] == [[1.5]] * 6
    kept = [(one.started_at, one.block, one.elapsed_s, one.evidence) for one in found.attempts]
    assert kept == [(one.started_at, one.block, one.elapsed_s, one.evidence) for one in old.attempts]
    assert [one.telemetry for one in found.attempts] == [one.telemetry for one in old.attempts]
    assert found.environments == old.environments
    assert not {one.id for one in found.plan.cases} & {one.id for one in old.plan.cases}
    assert tare_here("verify", new).returncode == 0
    assert "equivalent" in tare_here("compare", new).stdout


def test_a_study_that_reads_otherwise_is_told_to_read_anew(
    misread: Path, tmp_path: Path, tare_here: Tare
) -> None:
    refused = tare_here("run", write(tmp_path / "right.yaml", RIGHT), "--out", misread)
    assert refused.returncode == 2
    assert f"without a run: tare reparse {misread} STUDY --out DIR" in refused.stderr
    other = write(tmp_path / "other.yaml", RIGHT)
    other.write_text(other.read_text().replace("echo value: 1.5", "echo value: 1.6"))
    refused = tare_here("run", other, "--out", misread)
    assert (refused.returncode, "reparse" in refused.stderr) == (2, False), "its programs differ, too"


def test_the_new_campaign_goes_on_and_says_where_its_figures_come_from(
    misread: Path, tmp_path: Path, tare_here: Tare
) -> None:
    study, new = write(tmp_path / "right.yaml", RIGHT), tmp_path / "new"
    assert tare_here("reparse", misread, study, "--out", new).returncode == 0
    n_events = len(read_events(new / JOURNAL))
    assert tare_here("run", new).returncode == 0
    assert len(read_events(new / JOURNAL)) == n_events + 1, "a session, and no run"
    assert tare_here("report", new, "--output", tmp_path / "page").returncode == 0
    text = plain((tmp_path / "page" / "index.html").read_text())
    assert "The outputs of 6 runs of the campaign misread were read anew on" in text
    assert "(tare reparse): 6 runs were of another state before." in text
    assert (
        "Each of 3 passes over cases of a block began its runs in the order that was drawn at random" in text
    )


def test_the_order_that_was_drawn_when_it_ran_is_still_known(tmp_path: Path, tare_here: Tare) -> None:
    """The new ids of six cases would draw other orders."""
    folders = [tmp_path / name for name in ("old", "new", "again")]
    for name, regex in (("wrong", WRONG), ("right", RIGHT)):
        study = write(tmp_path / f"{name}.yaml", regex)
        study.write_text(study.read_text().replace("[a, b]", "[a, b, c, d, e, f]"))
    tare_here("run", tmp_path / "wrong.yaml", "--out", folders[0])
    for source, out in pairwise(folders):
        assert tare_here("reparse", source, tmp_path / "right.yaml", "--out", out).returncode == 0
    for folder in folders:
        found = history(read_campaign(folder))
        assert (found.n_passes, found.n_drawn) == (3, 3)


def test_runs_that_failed_stay_failed_and_what_is_wrong_now_is_invalid(
    tmp_path: Path, tare_here: Tare
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    tare_here("run", write(tmp_path / "one.yaml", RIGHT, fails="b"), "--out", old)
    study = write(tmp_path / "two.yaml", "nothing: (\\\\S+)", fails="b")
    ended = tare_here("reparse", old, study, "--out", new, "--json")
    assert ended.returncode == 1
    runs = json.loads(ended.stdout)["runs"]
    assert sorted((one["before"], one["state"]) for one in runs) == [
        *[("done", "invalid")] * 3,
        *[("failed", "failed")] * 3,
    ]
    found = read_campaign(new)
    assert all(not one.series for one in found.attempts)
    assert found.reparse is not None
    assert (found.reparse.n_runs, found.reparse.n_changed) == (3, 3), "of what failed nothing was read"


def test_what_outlived_its_ranks_stays_invalid_whatever_the_output_says(
    misread: Path, tmp_path: Path, tare_here: Tare
) -> None:
    from tare.core.job import Exit
    from tare.execution.exits import Outcome, judge_survivors

    output = Outcome(State.INVALID, "value is in the output more than once", "output")
    for ended in (Exit(survivors=("sleep (77)",)), Exit(lingerers=("sleep (78)",))):
        reason = judge_survivors(output, ended).reason
        rewrite(misread, partial(msgspec.structs.replace, reason=reason))
        new = tmp_path / f"new-{len(reason)}"
        tare_here("reparse", misread, write(tmp_path / "right.yaml", RIGHT), "--out", new)
        assert {one.state for one in read_campaign(new).attempts} == {State.INVALID}


def test_a_failure_of_the_infrastructure_keeps_its_state(
    misread: Path, tmp_path: Path, tare_here: Tare
) -> None:
    rewrite(misread, lambda one: msgspec.structs.replace(one, is_infrastructure=True))
    new = tmp_path / "new"
    assert tare_here("reparse", misread, write(tmp_path / "right.yaml", RIGHT), "--out", new).returncode == 1
    assert all(one.is_infrastructure and not one.series for one in read_campaign(new).attempts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("echo value: 1.5", "echo value: 1.6"), "text=a ran 'sh -c echo value: 1.5"),
        (("[a, b]", "[a]"), "the study no longer has 1 case, such as say text=b"),
        (("[a, b]", "[a, b, c]"), "does not have 1 case, such as say text=c"),
        (("study: read", "study: other"), "ran in an order of seed"),
        (("    foms", "    env: {X: y}\n    foms"), "ran with other variables, files, stages or placement"),
    ],
)
def test_a_study_that_would_run_anything_else_is_refused(
    misread: Path, tmp_path: Path, tare_here: Tare, change: tuple[str, str], said: str
) -> None:
    study = write(tmp_path / "other.yaml", RIGHT)
    study.write_text(study.read_text().replace(*change))
    ended = tare_here("reparse", misread, study, "--out", tmp_path / "new")
    assert ended.returncode == 2
    assert said in ended.stderr
    assert sorted(one.name for one in tmp_path.iterdir() if "new" in one.name) == [], "nothing is left"


def test_changed_or_missing_evidence_is_named_and_nothing_is_written(
    misread: Path, tmp_path: Path, tare_here: Tare
) -> None:
    study = write(tmp_path / "right.yaml", RIGHT)
    changed = sorted(misread.glob("attempts/*/2.1/stdout"))[0]
    was = changed.read_bytes()
    changed.write_bytes(was.replace(b"1.5", b"1.4"))
    ended = tare_here("reparse", misread, study, "--out", tmp_path / "new")
    assert (ended.returncode, f"{changed}: changed since its run ended" in ended.stderr) == (3, True)
    changed.unlink()
    ended = tare_here("reparse", misread, study, "--out", tmp_path / "new")
    assert (ended.returncode, str(changed) in ended.stderr) == (3, True)
    assert [one for one in tmp_path.iterdir() if "new" in one.name] == []


def test_a_link_in_the_old_campaign_is_not_followed(misread: Path, tmp_path: Path, tare_here: Tare) -> None:
    secret = tmp_path / "secret"
    secret.write_text("value: 9\n")
    for output in misread.glob("attempts/*/*/stdout"):
        output.unlink()
        output.symlink_to(secret)
    ended = tare_here("reparse", misread, write(tmp_path / "right.yaml", RIGHT), "--out", tmp_path / "new")
    assert ended.returncode == 3
    assert not (tmp_path / "new").exists()


def test_a_folder_that_holds_something_is_never_replaced(
    misread: Path, tmp_path: Path, tare_here: Tare
) -> None:
    study, new = write(tmp_path / "right.yaml", RIGHT), tmp_path / "new"
    new.mkdir()
    (new / "mine").write_text("mine")
    ended = tare_here("reparse", misread, study, "--out", new)
    assert (ended.returncode, f"{new} is there already" in ended.stderr) == (2, True)
    assert contents(new) == {"mine": hashlib.sha256(b"mine").hexdigest()}
    (new / "mine").unlink()
    assert tare_here("reparse", misread, study, "--out", new).returncode == 0, "an empty folder may be used"
    assert new.stat().st_mode & 0o777 == 0o777 & ~umask()


def test_a_folder_that_cannot_be_made_is_named(misread: Path, tmp_path: Path, tare_here: Tare) -> None:
    study = write(tmp_path / "right.yaml", RIGHT)
    for place in ("/proc/new", study / "new"):
        ended = tare_here("reparse", misread, study, "--out", place)
        assert (ended.returncode, f"{place}: cannot write: " in ended.stderr) == (2, True), ended.stderr


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_what_a_campaign_hides_stays_hidden(tmp_path: Path, tare_here: Tare) -> None:
    old, new = tmp_path / "quarkbay", tmp_path / "new"
    tare_here("run", write(tmp_path / "wrong.yaml"), "--out", old, "--redact", "quarkbay")
    assert tare_here("reparse", old, write(tmp_path / "right.yaml", RIGHT), "--out", new).returncode == 0
    assert tare_here("report", new, "--output", tmp_path / "page").returncode == 0
    assert "quarkbay" not in "".join(one.read_text() for one in (tmp_path / "page").glob("*.html"))


def test_a_campaign_of_imported_files_is_imported_again(tmp_path: Path, tare_here: Tare) -> None:
    (tmp_path / "a.log").write_text("value: 1\n")
    study, old = write(tmp_path / "right.yaml", RIGHT), tmp_path / "old"
    tare_here("import", "say", tmp_path / "a.log", "--out", old, "--study", study, "--set", "text=a")
    ended = tare_here("reparse", old, study, "--out", tmp_path / "new")
    assert (ended.returncode, "tare import" in ended.stderr) == (2, True)


def test_invalid_runs_in_pods_are_not_read_and_no_hint_promises_it(misread: Path) -> None:
    """Where the pods of a run ran is recorded only if it is done."""
    from tare.app.reparsing import reads
    from tare.core.backend_options import BackendOptions, PodPlacement

    class InPods(BackendOptions, frozen=True):
        @property
        def pods(self) -> PodPlacement | None:
            return PodPlacement(
                work="/work", hostfile="/etc/mpi/hostfile", agent=("kubexec",), interface="eth0"
            )

    invalid = read_campaign(misread).attempts[0]
    done = msgspec.structs.replace(invalid, state=State.DONE)
    here, there = Platform(), Platform(options=InPods())
    assert [reads(one, where) for one in (invalid, done) for where in (here, there)] == [
        True,
        False,
        True,
        True,
    ]
