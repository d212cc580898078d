"""Closed standard streams, and locales that are not UTF-8: a run is measured and recorded all the same."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import TARE
from cli.small_study import small_study
from tare.core.attempt import State
from tare.storage.campaign import read_campaign

STUDY = small_study("echo value: 1.2$$; echo {text} >{text}.out", levels="[a, '…']", repeats=3)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


@pytest.fixture(scope="module")
def latin1(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a locale in ISO 8859-1."""
    folder = tmp_path_factory.mktemp("locales")
    localedef = shutil.which("localedef")
    if localedef is None:
        pytest.skip("no localedef here; on Debian: apt install libc-bin locales")
    made = subprocess.run(
        [localedef, "-i", "en_US", "-f", "ISO-8859-1", str(folder / "en_US")],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("the sources of locales are not here; on Debian: apt install locales")
    return {"LOCPATH": str(folder), "LC_ALL": "en_US"}


def call(folder: Path, line: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of sh, in which `tare` is $0; in `folder`, and without what tells Python an encoding."""
    kept = {name: one for name, one in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    command = ["sh", "-c", line, TARE]
    return subprocess.run(
        command, cwd=folder, env=kept | variables, capture_output=True, timeout=120, check=False
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_without_standard_streams_is_recorded_whole(study: Path, closed: str) -> None:
    ended = call(study, f'exec "$0" run study.yaml --out c {closed}')
    assert ended.returncode == 0, ended.stderr.decode()
    campaign = read_campaign(study / "c")
    assert [one.state for one in campaign.attempts] == [State.DONE] * 6
    lines = (study / "c/journal.jsonl").read_text().splitlines()
    assert all(line.startswith('{"event":') and line.endswith('"}') for line in lines)


def test_in_a_locale_of_latin_1_studies_run_and_everything_is_printed(
    study: Path, latin1: dict[str, str]
) -> None:
    ended = call(study, 'exec "$0" run study.yaml --out c', **latin1)
    assert ended.returncode == 0, ended.stderr.decode("latin-1")
    folders = [study / "c" / one.folder for one in read_campaign(study / "c").measured()]
    assert sorted({path.name for one in folders for path in one.glob("*.out")}) == ["a.out", "….out"]
    for words in ("compare c", "workloads osu.latency", "published", "plan study.yaml --show", "report c"):
        told = call(study, f'exec "$0" {words}', **latin1)
        assert told.returncode == 0, (words, told.stderr.decode("latin-1"))
        assert "Traceback" not in told.stderr.decode("latin-1")


def test_the_measured_programs_keep_their_locale(study: Path, latin1: dict[str, str]) -> None:
    program = study / "mode.py"
    program.write_text("import sys; print('value:', 1.5 if sys.flags.utf8_mode else 2.5)")
    (study / "study.yaml").write_text(small_study(f"python3 {program}", repeats=3))
    call(study, 'exec "$0" run study.yaml --out c', **latin1)
    values = {value for one in read_campaign(study / "c").measured() for value in one.series[0].values}
    assert values == {2.5}


def test_signs_that_an_encoding_lacks_are_printed_as_plain_text(study: Path) -> None:
    told = call(study, '"$0" published', PYTHONIOENCODING="latin-1", LC_ALL="C.UTF-8")
    whole = call(study, '"$0" published', LC_ALL="C.UTF-8")
    assert (told.returncode, told.stderr) == (0, b"")
    assert "\u2013" in whole.stdout.decode()
    assert told.stdout.decode("latin-1") == whole.stdout.decode().replace("\u2013", "-")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full, full(4)")
@pytest.mark.parametrize("words", ["--version", "--help", "workloads", "schema compare", "workloads --json"])
def test_output_that_no_disk_takes_is_the_infrastructures_fault(tmp_path: Path, words: str) -> None:
    ended = call(tmp_path, f'exec "$0" {words} >/dev/full')
    assert ended.returncode == 3
    assert ended.stderr.decode() == "tare: standard output cannot be written: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full, full(4)")
def test_a_run_goes_on_when_its_log_takes_no_more(study: Path) -> None:
    ended = call(study, 'exec "$0" run study.yaml --out c >/dev/full')
    assert ended.returncode == 0, ended.stderr.decode()
    assert "standard output cannot be written: No space left on device" in ended.stderr.decode()
    assert [one.state for one in read_campaign(study / "c").attempts] == [State.DONE] * 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full, full(4)")
def test_an_error_that_cannot_be_printed_keeps_its_exit_code(tmp_path: Path) -> None:
    assert call(tmp_path, 'exec "$0" compare nothing 2>/dev/full').returncode == 2


def test_a_reader_that_has_gone_is_no_verdict(tmp_path: Path) -> None:
    """Exit code 1 would be that of rules that fail; the shell's code for a closed pipe is 128 + SIGPIPE."""
    for words in ("--version", "--help", "workloads", "workloads --json"):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            ended = subprocess.run([TARE, *words.split()], stdout=pipe, stderr=subprocess.PIPE, check=False)
        assert (ended.returncode, ended.stderr) == (141, b""), words


def test_a_pipe_that_is_full_and_does_not_block_gets_everything(tmp_path: Path) -> None:
    """Another program may have made the shared pipe non-blocking, as node.js and ssh do."""
    whole = subprocess.run([TARE, "schema", "compare"], capture_output=True, check=True).stdout
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with subprocess.Popen([TARE, "schema", "compare"], stdout=writer, stderr=subprocess.PIPE) as printing:
        os.close(writer)
        time.sleep(1)  # long enough for the pipe to fill
        with os.fdopen(reader, "rb") as pipe:
            assert pipe.read() == whole
        assert printing.wait(60) == 0


def test_a_caller_in_the_same_process_that_redirects_the_output_gets_it(tmp_path: Path) -> None:
    program = (
        "import contextlib, sys\n"
        "from tare.cli.main import main\n"
        "sys.argv = ['tare', '--version']\n"
        "with open('kept', 'w') as kept, contextlib.redirect_stdout(kept), contextlib.suppress(SystemExit):\n"
        "    main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert (tmp_path / "kept").read_text().startswith("tare")
