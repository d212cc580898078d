"""Closed standard streams, and locales that are not UTF-8: a run is measured and recorded all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
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
