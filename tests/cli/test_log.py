"""The log: what is said with `-v`, what a file and the campaign keep, what is never in it."""

from __future__ import annotations

import errno
import json
import logging
import os
import pty
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import click
import pytest

from backends.real_ssh import sshd
from cli.conftest import TARE, Tare
from tare.cli import logs
from tare.cli.commands import run
from tare.core import log
from tare.core.log import fields
from tare.core.pseudonyms import NO_PSEUDONYMS
from tare.core.safe_folder import SafeFolder
from tare.storage.log import Entry, JsonLines, add_handler, keeping_log, read_log, remove_handler

SECRET = "ghp_4fGh72kQwLmN0pRsTuVxYz13AbCdEfGh5678"
STUDY = f"""\
study: logged
workloads:
  say:
    command: [sh, -c, "echo value: 1 >out; cat out; echo {{x}} --token={SECRET} of atlas; [ {{x}} != 2 ]"]
    parameters: {{x: 1}}
    files: {{input.txt: "text"}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
factors: {{workload: [say], x: [1, 2]}}
reference: {{x: 1}}
repeats: {{min: 2, max: 3, until: 2 %}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a campaign that was run with -v, and what it said."""
    folder = tmp_path_factory.mktemp("logged")
    (folder / "study.yaml").write_text(STUDY)
    done = subprocess.run(
        [TARE, "run", "study.yaml", "--out", "c", "-v", "--log", "all.jsonl", "--redact", "atlas"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    (folder / "stderr").write_text(done.stderr)
    return folder


def _entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_without_an_option_nothing_is_reported_and_the_campaign_keeps_its_log(
    tare_here: Tare, tmp_path: Path
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    done = tare_here("run", "study.yaml", "--out", "c")
    assert done.stderr == ""
    assert {one.message for one in read_log(tmp_path / "c").entries} >= {
        "session begins",
        "command",
        "run ended",
    }
    assert [type(one) for one in logging.getLogger(log.ROOT).handlers] == [logging.NullHandler]


def test_v_prints_commands_decisions_and_fault_owners_on_standard_error(folder: Path) -> None:
    said = (folder / "stderr").read_text()
    assert "process: command  argv=[sh -c " in said
    assert "execution: block begins  block=1 n_runs=2 n_again=0" in said
    assert re.search(r"execution: no more blocks  block=3 why='no case asks for more'", said)
    assert re.search(r"warning execution: run ended .* state=failed .* fault_of=program ", said)
    assert "debug" not in said


def test_a_log_file_has_what_vv_prints_as_json(folder: Path) -> None:
    entries = _entries(folder / "all.jsonl")
    written = [one for one in entries if one["message"] == "file written"]
    assert {(one["level"], one["fields"]["file"]) for one in written} == {("debug", "input.txt")}
    assert all(sorted(one) == ["at", "fields", "level", "message", "source"] for one in entries)
    assert [one["at"] for one in entries] == sorted(one["at"] for one in entries)


def test_no_log_has_secrets_or_what_the_site_redacts(folder: Path) -> None:
    for name in ("stderr", "all.jsonl", "c/log.jsonl"):
        text = (folder / name).read_text()
        assert SECRET not in text
        assert "--token=(hidden)" in text
        assert "atlas" not in text
        assert "‹redacted-1›" in text


def test_status_shows_the_log_by_level_and_time(tare_here: Tare, folder: Path) -> None:
    shown = tare_here("status", folder / "c", "--log", "--level", "warning")
    assert shown.stdout.count("\n") == 2
    assert all(" warning execution: run ended " in line for line in shown.stdout.splitlines())
    told = json.loads(tare_here("status", folder / "c", "--log", "--json", "--since", "1h").stdout)
    assert told["schema"] == "tare.log/1"
    assert told["entries"] == _entries(folder / "c/log.jsonl")
    later = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 3600))
    assert (
        tare_here("status", folder / "c", "--log", "--since", later).stdout
        == "nothing of that is in the log\n"
    )


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("--since", "1h"), "add --log"),
        (("--log", "--since", "yesterday"), "such as 30min"),
        (("--log", "--level", "loud"), "'debug', 'info', 'warning'"),
    ],
)
def test_what_cannot_be_shown_is_bad_usage(
    tare_here: Tare, folder: Path, words: list[str], cure: str
) -> None:
    done = tare_here("status", folder / "c", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert cure in done.stderr


def test_a_log_of_no_campaign_is_bad_usage(tare_here: Tare, tmp_path: Path) -> None:
    assert tare_here("status", tmp_path, "--log").returncode == 2


def test_a_file_that_cannot_be_written_is_bad_usage(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("nowhere/log", "link"):
        done = tare_here("run", "study.yaml", "--log", name)
        assert done.returncode == 2
        assert "the log cannot be written" in done.stderr


def test_lines_that_a_full_disk_did_not_take_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(lines: JsonLines, entry: Entry) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(JsonLines, "write", full)
    with click.Context(run.command) as context:
        logs._write(context, run.command.params[0], tmp_path / "run.log")
        logging.getLogger("tare.session").info("begun")
        logging.getLogger("tare.session").info("ended")
    assert capsys.readouterr().err == (
        f"{tmp_path / 'run.log'}: 2 lines of the log could not be written: No space left on device\n"
    )


def test_hostile_text_forges_no_line_and_steers_no_terminal(folder: Path, tmp_path: Path) -> None:
    poison = "\x1b[2J\nforged\u202e\x9b1m"
    (tmp_path / "plan.json").write_bytes((folder / "c/plan.json").read_bytes())
    with keeping_log(tmp_path, NO_PSEUDONYMS):
        log.of("x").info(poison, extra=fields(one=poison, words=[poison]))
    raw = (tmp_path / "log.jsonl").read_bytes()
    assert raw.count(b"\n") == 1
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80\xae", raw)
    shown = _status(tmp_path)
    assert shown.count("\n") == 1
    assert "␛[2J␊forged⟨U+202E⟩" in shown


def _status(folder: Path) -> str:
    return subprocess.run(
        [TARE, "status", folder, "--log"], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_a_log_takes_no_more_space_than_two_files(tmp_path: Path) -> None:
    lines = JsonLines(
        SafeFolder(tmp_path, "log.jsonl"), logging.INFO, SafeFolder(tmp_path, "log.1.jsonl"), 2000
    )
    add_handler(lines)
    for number in range(200):
        log.of("x").info("again", extra=fields(number=number))
    remove_handler(lines)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) == {"log.jsonl", "log.1.jsonl"}
    assert all(size < 2000 + 200 for size in sizes.values())
    numbers = [one.fields["number"] for one in read_log(tmp_path).entries]
    assert numbers == list(range(200 - len(numbers), 200))


def test_long_texts_are_cut_and_many_words_counted(tmp_path: Path) -> None:
    with keeping_log(tmp_path, NO_PSEUDONYMS):
        log.of("x").info("long", extra=fields(text="a" * 5000, words=["b"] * 500))
    (entry,) = read_log(tmp_path).entries
    text, words = entry.fields["text"], entry.fields["words"]
    assert isinstance(text, str)
    assert text.endswith("a… (5000 characters)")
    assert len(text) < 1100
    assert isinstance(words, list)
    assert words[-1] == "… and 400 words more"


def test_a_damaged_line_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    with keeping_log(tmp_path, NO_PSEUDONYMS):
        log.of("x").info("one")
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'{"at": 1, "lev\n\xff\n')
    found = read_log(tmp_path)
    assert ([one.message for one in found.entries], found.n_damaged) == (["one"], 2)


def test_no_link_in_a_campaign_leads_the_log_out_of_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    campaign = tmp_path / "c"
    campaign.mkdir()
    (campaign / "log.jsonl").symlink_to(outside)
    with keeping_log(campaign, NO_PSEUDONYMS):
        log.of("x").info("one")
    assert not outside.exists()


def test_what_is_logged_once_the_file_is_closed_meets_no_other_file(tmp_path: Path) -> None:
    lines = JsonLines(SafeFolder(tmp_path, "log.jsonl"), logging.INFO)
    add_handler(lines)
    lines.close()
    with (tmp_path / "other").open("wb"):  # it has the descriptor that the log had
        log.of("x").info("one")
    remove_handler(lines)
    assert (tmp_path / "log.jsonl").read_bytes() == (tmp_path / "other").read_bytes() == b""


def test_a_log_whose_folder_is_gone_when_it_is_full_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    lines = JsonLines(SafeFolder(folder, "log.jsonl"), logging.INFO, SafeFolder(folder, "log.1.jsonl"), 100)
    add_handler(lines)
    log.of("x").info("one", extra=fields(text="a" * 200))
    shutil.rmtree(folder)
    with (tmp_path / "other").open("wb"):
        log.of("x").info("two")
        log.of("x").info("three")
    remove_handler(lines)
    assert (tmp_path / "other").read_bytes() == b""


def test_at_a_terminal_the_log_stands_above_the_bar(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    main, side = pty.openpty()
    run = subprocess.Popen(
        [TARE, "run", "study.yaml", "--out", "c", "-v", "--telemetry", "off"],
        cwd=tmp_path,
        stdin=side,
        stdout=side,
        stderr=side,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "400", "LINES": "50"},
    )
    os.close(side)
    said = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.close(main)
    assert run.wait(60) == 1
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())
    ended = [line for line in re.split(r"[\r\n]+", plain) if "run ended" in line]
    assert len(ended) == 4
    assert all(re.match(r"\d\d:\d\d:\d\d\.\d{3} (info|warning) ", line.strip()) for line in ended)


def test_vv_prints_the_queries_to_hosts_over_ssh(tmp_path: Path, tare: Tare) -> None:
    with sshd(tmp_path) as agent:
        (tmp_path / "site.yaml").write_text(
            f"site: hosts\nnodes: [n1]\nagent: {json.dumps(agent)}\nplatforms: {{bare: {{}}}}\n"
        )
        (tmp_path / "study.yaml").write_text(STUDY + "site: site.yaml\nplatform: bare\n")
        done = tare("run", tmp_path / "study.yaml", "--out", tmp_path / "c", "-vv", "--blocks", "1")
    assert re.search(r"info    process: command  host=n1 argv=\[sh -c ", done.stderr), done.stderr
    assert re.search(r"debug   ssh: command  host=n1 command='exec env ", done.stderr)
    assert re.search(r"debug   ssh: query  host=n1 script=", done.stderr)
    assert SECRET not in done.stderr
    kept = read_log(tmp_path / "c").entries
    assert {"debug", "info"} <= {one.level for one in kept}, "with -vv the campaign keeps queries, too"
