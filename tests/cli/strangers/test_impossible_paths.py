"""Names that no file can have are refused with the cure, wherever they are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tare
from cli.conftest import Tare

LONG = "x" * 256
STUDY = {
    "study": "paths",
    "question": "q",
    "site": "local",
    "workloads": {
        "echo": {
            "command": ["sh", "-c", "echo value: 1.0"],
            "foms": [{"name": "value", "unit": "s", "better": "lower", "regex": r"value: (\S+)"}],
        }
    },
    "factors": {"workload": ["echo"]},
    "repeats": 1,
}
CALLS: dict[str, Callable[[str], object]] = {
    "open_campaign": tare.open_campaign,
    "plan_study": tare.plan_study,
    "plan_study, campaign": lambda path: tare.plan_study(STUDY, campaign=path),
    "run_study": tare.run_study,
    "run_study, folder": lambda path: tare.run_study(STUDY, path),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("path", "cure"),
    [
        ("a\0b", "cannot hold a NUL character; remove it"),
        (f"folder/{LONG}", "at most 255 bytes; shorten it"),
        ("\u00e9" * 128, "at most 255 bytes; shorten it"),
        ("a\ud800b", "half of a surrogate pair; remove it"),
        ("", "a path cannot be empty; write '.' for the current folder"),
    ],
)
def test_a_path_that_no_file_can_have_is_refused_by_python_with_its_cure(
    call: str, path: str, cure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tare.UsageError, match=cure):
        CALLS[call](path)
    assert not [*tmp_path.glob("*.json")]


@pytest.mark.parametrize(
    "command",
    [
        "run {}",
        "status {}",
        "run study.yaml --out {}",
        "import stream {} --out new",
        "published hpcc-fabrics --out {}",
        "parse stream {}",
        "doctor --site {}",
        "init {} --no-jobs",
    ],
)
def test_a_name_that_is_too_long_is_told_with_its_cure(
    command: str, tare_here: Tare, study: Callable[..., Path]
) -> None:
    study()
    done = tare_here(*command.format(LONG).split())
    assert done.returncode in (2, 3)
    assert "name too long" in done.stderr
    assert "defect of Tare" not in done.stderr


def test_inputs_with_names_that_are_too_long_are_refused_before_anything_runs(
    tare_here: Tare, study: Callable[..., Path]
) -> None:
    path = study(rest=f"inputs: {{{LONG}: study.yaml}}")
    done = tare_here("plan", path)
    assert done.returncode == 2
    assert "study.yaml:" in done.stderr
    assert "a name in a path has at most 255 bytes; shorten it" in done.stderr


def test_a_folder_that_takes_no_campaign_is_not_called_a_campaign_that_is_gone(
    tare_here: Tare, study: Callable[..., Path]
) -> None:
    done = tare_here("run", study(), "--out", "/proc/campaign")
    assert done.returncode == 3
    assert "/proc/campaign: cannot write: no folder can be made there" in done.stderr


@pytest.mark.slow
def test_a_campaign_may_lie_in_a_folder_whose_name_is_not_utf_8(
    tare: Tare, study: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tmp_path / "caf\udce9"
    done = tare("run", study(), "--out", folder)
    assert (done.returncode, done.stderr) == (0, done.stderr)
    assert "10 of 10 runs done" in done.stdout
    assert tare("report", folder, "--format", "all").returncode == 0
    assert tare("verify", folder).returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ("run", "study.yaml", "--out"),
        ("calibrate", "study.yaml", "--out"),
        ("report", ".", "--output"),
        ("export", ".", "--output"),
        ("import", "echo", "log", "--out"),
        ("published", "hpcc-fabrics", "--out"),
    ],
)
def test_an_unset_variable_of_the_shell_scatters_nothing_over_the_current_folder(
    words: tuple[str, ...], tare_here: Tare, tmp_path: Path
) -> None:
    done = tare_here(*words, "")
    assert done.returncode == 2
    assert "the path is empty; write . for the current folder" in done.stderr
    assert not list(tmp_path.iterdir())
