"""A campaign that came by mail reads and writes nothing outside its folder, and keeps nobody waiting."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from cli.conftest import Tare
from cli.small_study import small_study
from cli.strangers.packed_pages import unpacked
from support.journals import unsummed
from tare.core.attempt import Attempt, State
from tare.storage.journal import AttemptBegan, AttemptEnded, BlockBegan, Event, write_line

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"
STUDY = small_study("echo value: 1.25; echo {text} >extra.stdout")
READERS = (
    ("status",),
    ("compare",),
    ("check", "--fail-if", "overhead(text=b) > 5 %"),
    ("report",),
    ("export", "--format", "csv"),
    ("environment", "show"),
)
USERS = {
    "journal.jsonl": (*READERS, ("run",)),
    "plan.json": READERS,
    "study.yaml": (("run",), ("plan",)),
    "site.yaml": (("run",), ("plan",)),
}
"""The commands that need a file of a campaign."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from cli.conftest import call_tare_here

    folder = tmp_path_factory.mktemp("measured")
    (folder / "study.yaml").write_text(STUDY)
    ended = call_tare_here("run", "study.yaml", "--out", "c", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return folder / "c"


@pytest.fixture
def campaign(measured: Path, tmp_path: Path) -> Path:
    shutil.copytree(measured, tmp_path / "c")
    return tmp_path / "c"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "id_ed25519"
    path.write_text(SECRET)
    return path


def attempts(campaign: Path) -> list[Path]:
    return sorted((campaign / "attempts").glob("*/*"))


def test_a_link_in_the_place_of_the_page_is_not_written_through(
    tare_here: Tare, campaign: Path, secret: Path
) -> None:
    (campaign / "report/charts").mkdir(parents=True)
    for name in ("index.html", "charts/value.svg"):
        (campaign / "report" / name).symlink_to(secret)
    ended = tare_here("report", "c")
    assert ended.returncode == 0, ended.stderr
    assert secret.read_text() == SECRET
    assert not (campaign / "report/index.html").is_symlink()


@pytest.mark.parametrize("name", ["rehearsal.json", "log.jsonl", "packet-counter.py"])
def test_a_link_in_the_place_of_a_record_is_not_written_through(
    tare_here: Tare, campaign: Path, secret: Path, name: str
) -> None:
    (campaign / name).unlink(missing_ok=True)
    (campaign / name).symlink_to(secret)
    tare_here("run", "c", "--extend", "--blocks", "3")
    assert secret.read_text() == SECRET


def test_a_report_folder_that_is_a_link_is_refused(tare_here: Tare, campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (campaign / "report").symlink_to(tmp_path / "home")
    ended = tare_here("report", "c")
    assert ended.returncode == 3
    assert "report: cannot write: a symbolic link, which is not followed" in ended.stderr
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("place", ["extra.stdout", "stdout", "command.json", "."])
def test_a_secret_behind_a_link_is_not_in_the_page(
    tare_here: Tare, campaign: Path, secret: Path, place: str
) -> None:
    folder = attempts(campaign)[0]
    if place == ".":
        shutil.rmtree(folder)
        (secret.parent / "ssh").mkdir()
        (secret.parent / "ssh/stdout").write_text(SECRET)
        folder.symlink_to(secret.parent / "ssh")
    else:
        (folder / place).unlink()
        (folder / place).symlink_to(secret)
    tare_here("report", "c", "--format", "all")
    for page in campaign.rglob("report/**/*"):
        assert not page.is_file() or SECRET not in page.read_text(errors="replace")
    pieces = list(unpacked((campaign / "report/index.html").read_text()))
    assert pieces
    assert not any(SECRET in one for one in pieces)


@pytest.mark.parametrize("case", ["../../../ssh", "..", "/etc", "a\nb", "x" * 300])
def test_an_id_that_leads_elsewhere_is_refused(tare_here: Tare, campaign: Path, case: str) -> None:
    known = attempts(campaign)[0].parent.name
    for file in ("plan.json", "journal.jsonl"):
        text = (campaign / file).read_text()
        (campaign / file).write_text(unsummed(text).replace(f'"{known}"', json.dumps(case)))
        for command in READERS:
            ended = tare_here(*command, "c")
            assert ended.returncode == 3, (command, ended.stdout, ended.stderr)
            assert f"{file}" in ended.stderr
            assert "damaged" in ended.stderr
        (campaign / file).write_text(text)


@pytest.mark.parametrize("file", ["journal.jsonl", "plan.json", "study.yaml", "site.yaml"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_file_is_refused_at_once(
    tare_here: Tare, campaign: Path, secret: Path, file: str, kind: str
) -> None:
    path = campaign / file
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(secret)
        case _:
            path.mkdir()
    for command in USERS[file]:
        ended = tare_here(*command, "c")
        assert ended.returncode in (2, 3), (command, ended.stdout, ended.stderr)
        assert SECRET not in ended.stderr + ended.stdout
    assert secret.read_text() == SECRET


def test_pipes_among_the_evidence_keep_nobody_waiting(tare_here: Tare, campaign: Path) -> None:
    for folder in attempts(campaign):
        for name in ("stdout", "command.json", "telemetry.jsonl.gz", "telemetry.imported.json"):
            (folder / name).unlink(missing_ok=True)
            os.mkfifo(folder / name)
    os.mkfifo(campaign / "environments" / "pipe.json")
    for command in READERS:
        ended = tare_here(*command, "c")
        assert ended.returncode in (0, 1, 3), (command, ended.stderr)


def test_telemetry_that_unpacks_to_gigabytes_is_left_out(tare_here: Tare, campaign: Path) -> None:
    bomb = gzip.compress(b"\n" * 300_000_000, 9)
    (attempts(campaign)[0] / "telemetry.jsonl.gz").write_bytes(bomb)
    assert tare_here("report", "c").returncode == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"event":"session","at":1e300,"tare":"0.1.0","version":1}',
        '{"event":"session","at":1,"tare":"0.1.0","version":1,"x":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"event":"started","case":"c","block":1e99,"attempt":1,"at":1}',
        '{"event":"started","case":"c","block":99999999999999999999999,"attempt":1,"at":1}',
    ],
    ids=["a time beyond all calendars", "nested", "a huge block", "a block beyond 64 bits"],
)
def test_huge_and_deep_values_are_a_sentence(tare_here: Tare, campaign: Path, line: str) -> None:
    journal = campaign / "journal.jsonl"
    journal.write_text(line + "\n" + journal.read_text())
    for command in (*READERS, ("run",)):
        ended = tare_here(*command, "c")
        assert ended.returncode == 3, (command, ended.stdout, ended.stderr)
        assert "journal.jsonl:1: this line is damaged" in ended.stderr


def test_a_plan_of_more_runs_than_can_be_is_refused_at_once(tare_here: Tare, campaign: Path) -> None:
    plan = json.loads((campaign / "plan.json").read_text())
    plan["repeats"] |= {"min": 10**12, "max": 10**12}
    (campaign / "plan.json").write_text(json.dumps(plan))
    study = (campaign / "study.yaml").read_text().replace("repeats: 2", "repeats: 1000000000000")
    (campaign / "study.yaml").write_text(study)
    for command in READERS:
        ended = tare_here(*command, "c")
        assert ended.returncode == 3, (command, ended.stdout, ended.stderr)
        assert "plan.json: damaged (2e+12 runs" in ended.stderr
    ended = tare_here("plan", "c/study.yaml")
    assert ended.returncode == 2
    assert re.search(
        r"study\.yaml:\d+:10: repeats: more than 10000000 runs; give fewer levels or repeats", ended.stderr
    )


def _lasting(elapsed_s: float) -> AttemptEnded:
    ended = Attempt(case="c", block=1, attempt=1, state=State.DONE, started_at=1.0, elapsed_s=elapsed_s)
    return AttemptEnded(ended)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (BlockBegan(1, ["nobody"]), "names the case nobody"),
        (AttemptBegan("nobody", 1, 1, 1.0), "names the case nobody"),
        (
            AttemptEnded(Attempt(case="nobody", block=1, attempt=1, state=State.DONE, started_at=1.0)),
            "nobody",
        ),
        (_lasting(1e18), "this line is damaged"),
        (_lasting(-1e18), "this line is damaged"),
    ],
)
def test_a_journal_of_other_cases_or_of_no_time_is_refused_in_a_sentence(
    tare_here: Tare, campaign: Path, event: Event, told: str
) -> None:
    path = campaign / "journal.jsonl"
    last = path.read_bytes().splitlines(keepends=True)[-1]
    with path.open("ab") as journal:
        journal.write(write_line(event) + last)  # a last line that is damaged is one that was cut
    for words in (["status"], ["report", "--format", "markdown"], ["compare"]):
        ended = tare_here(words[0], str(campaign), *words[1:])
        assert told in ended.stderr
        assert "Traceback" not in ended.stderr
        assert ended.returncode
