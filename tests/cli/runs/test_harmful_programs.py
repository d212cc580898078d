"""What a program does to the folder it runs in harms its own run at most, never the campaign."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import TARE, call_tare_here
from tare.core.attempt import State
from tare.execution import parsing
from tare.storage.campaign import read_campaign

Study = Callable[..., Path]
_NO_OVERRIDE = "-dac_override,-dac_read_search"  # capabilities(7): with these, rights bind nobody


def run_bound(study: Path, campaign: Path) -> subprocess.CompletedProcess[str]:
    """Run tare as a user whom the rights of files bind."""
    words = [TARE, "run", str(study), "--out", str(campaign)]
    if not os.getuid():
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv(1) of util-linux is not installed")
        words = ["setpriv", "--bounding-set", _NO_OVERRIDE, "--inh-caps", _NO_OVERRIDE, *words]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


HARMS = {
    2: ("chmod 0 .", State.DONE, ""),
    3: ("chmod 0 ../../..", State.DONE, ""),
    4: ("chmod 0 stdout", State.INVALID, "stdout cannot be read: Permission denied"),
    5: ("rm stdout; mkfifo stdout", State.INVALID, "a pipe, not a file"),
    6: ("rm stdout stderr; mkdir stdout stderr", State.INVALID, "a folder, not a file"),
    7: ("rm stdout; ln -s /etc/passwd stdout", State.INVALID, "a symbolic link, which is not followed"),
    8: ('rm -rf "$PWD"', State.INVALID, ""),
    9: ('mv "$PWD" "$PWD.gone"; ln -s /etc "$PWD"', State.INVALID, ""),
    11: (
        "mkdir -p software ranks/run transport/run x/y; chmod 0 x/y ranks/run transport/run; "
        "chmod 0 software ranks transport x",
        State.DONE,
        "",
    ),
    10: ("yes", State.FAILED, "to stdout and was ended"),
    12: ("mkdir SHA256SUMS; touch SHA256SUMS/x", State.DONE, ""),
    13: ("mkdir telemetry.jsonl.gz", State.INVALID, "telemetry.jsonl.gz cannot be written: a folder"),
    14: ('rm -rf "$PWD"; echo >"$PWD"', State.INVALID, "/1.1 cannot be written"),
    15: ('cd ..; rm -rf "$PWD"; echo >"$PWD"', State.INVALID, "/1.1 cannot be written"),
}


def test_a_program_that_wrecks_its_folder_fails_its_run_and_no_other(study: Study, tmp_path: Path) -> None:
    harms = " ".join(f"{size}) {harm};;" for size, (harm, _, _) in HARMS.items())
    path = study(
        f"case {{size}} in {harms} esac; echo value: 1",
        repeats=1,
        levels=str([1, *HARMS]),
        rest="timeout: 30",
    )
    done = run_bound(path, tmp_path / "campaign")
    campaign = read_campaign(tmp_path / "campaign")
    assert done.returncode == 1, done.stdout + done.stderr
    sizes = {case.id: case.parameters["size"] for case in campaign.plan.cases}
    came = {sizes[one.case]: (one.state, one.reason) for one in campaign.attempts}
    assert came[1] == (State.DONE, "")
    for size, (harm, state, said) in HARMS.items():
        assert came[size][0] is state, (harm, came[size])
        assert said in came[size][1], (harm, came[size])
    sizes_kept = [one.stat().st_size for one in (tmp_path / "campaign").glob("attempts/*/*/stdout")]
    assert max(sizes_kept) <= 1 << 20


def test_a_regular_expression_that_does_not_end_fails_its_run(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study(f"echo {'a' * 42}b; echo value: 1", repeats=1)
    path.write_text(path.read_text().replace("matches: 'value:'", "matches: '(a+)+$'"))
    monkeypatch.setattr(parsing, "_PARSE_S", 0.3)
    for jobs in ("1", "2"):  # of which the latter parses in threads
        done = call_tare_here("run", path, "--out", tmp_path / jobs, "--jobs", jobs)
        assert done.returncode == 1, done.stderr
        reasons = {one.reason for one in read_campaign(tmp_path / jobs).attempts}
        assert all(one.startswith("the parser of echo had not ended after 0.3 s") for one in reasons)
        assert len(reasons) == 1


def test_a_program_that_replaces_the_folder_of_its_case_stops_no_other_case(
    study: Study, tmp_path: Path
) -> None:
    path = study(
        'case {size} in 2) cd ..; rm -rf "$PWD"; echo >"$PWD";; esac; echo value: 1',
        repeats=3,
        levels="[1, 2]",
    )
    for words in ((str(path), "--out", str(tmp_path / "c")), (str(tmp_path / "c"),)):
        done = call_tare_here("run", *words)
        assert done.returncode == 1, done.stderr
    campaign = read_campaign(tmp_path / "c")
    sizes = {case.id: case.parameters["size"] for case in campaign.plan.cases}
    assert [one.state for one in campaign.latest().values() if sizes[one.case] == 1] == [State.DONE] * 3
    harmful = [one for one in campaign.latest().values() if sizes[one.case] == 2]
    assert [one.state for one in harmful] == [State.INVALID] * 3
    assert "a file, not a folder" in harmful[-1].reason
