"""A rule that would pass what got worse is refused or has a note, whichever way it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Tare
from tare.core.workload import Better
from truth.campaigns import RATE, Figure, Truth, by_level, write
from truth.noise import lognormal

WALL = Figure(name="wall_time", is_primary=False, level=60.0)
LATENCY = Figure(name="latency", unit="us", level=20.0)
JOB = "No rule looks at wall_time, an elapsed time that 'tare compare' calls worse"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A contender whose rate holds, and whose job takes twice as long."""
    slower = by_level("network", {"overlay": 2.0})
    truth = Truth(
        workloads={"solver": (RATE, WALL)},
        slowing=lambda settings, fom: slower(settings, fom) if fom == "wall_time" else 1.0,
        noise=lognormal(0.005),
        blocks=8,
    )
    return write(truth, tmp_path / "c", seed=1)


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("--fail-if", "ratio() < 0.95"),
        ("--pass-if", "ratio() > 0.95"),
        ("--fail-if", "0.95 > ratio()"),
        ("--fail-if", "not ratio() >= 0.95"),
        ("--fail-if", "ratio(network=overlay) < 0.95 and overhead(rate) > 5 %"),
    ],
)
def test_a_job_that_takes_twice_as_long_passes_no_rule_meant_of_rates(
    tare_here: Tare, folder: Path, option: str, rule: str
) -> None:
    ended = tare_here("check", folder, option, rule)
    assert ended.returncode == 2
    assert "this matches wall_time, of which less is better" in ended.stderr
    assert "fails where that is better, and passes where it is worse" in ended.stderr
    assert "write for example overhead(…) > 5 %" in ended.stderr


def test_a_rate_of_which_a_rule_fails_for_more_is_refused_where_it_is_not_named(
    tare_here: Tare, tmp_path: Path
) -> None:
    folder = write(Truth(workloads={"solver": (RATE,)}, blocks=5), tmp_path / "r", seed=1)
    assert tare_here("check", folder, "--fail-if", "ratio() > 1.05").returncode == 2
    assert tare_here("check", folder, "--fail-if", "value() > 2000 MB/s").returncode == 2
    assert (
        tare_here("check", folder, "--fail-if", "ratio() < 0.5", "--fail-if", "value() < 1 MB/s").returncode
        == 0
    )


def test_what_is_worse_of_either_kind_needs_no_figure(tare_here: Tare, folder: Path) -> None:
    ended = tare_here("check", folder, "--fail-if", "overhead() > 5 %")
    assert ended.returncode == 1
    assert "fails where" not in ended.stdout


@pytest.mark.parametrize(
    "rules",
    [
        ("ratio() < 0.95 or ratio() > 1.05",),
        ("ratio() < 0.95", "ratio() > 1.05"),
    ],
)
def test_a_rule_on_both_sides_asks_for_no_change_and_fails_for_any(
    tare_here: Tare, folder: Path, rules: tuple[str, ...]
) -> None:
    ended = tare_here("check", folder, *(word for rule in rules for word in ("--fail-if", rule)))
    assert ended.returncode == 1, ended.stderr
    assert "fails where" not in ended.stdout


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("ratio(wall_time) < 0.95", "wall_time, of which less is better"),
        ("value(wall_time) < 10 s", "wall_time, of which less is better"),
        ("median(rate) > 5 GB/s", "rate, of which more is better"),
        ("overhead(wall_time) < -5 %", "overhead() of wall_time, of which less is better"),
        ("cv(rate) < 1 %", "cv() of rate, of which less is better"),
        ("cv_ratio(wall_time) < 0.1", "cv_ratio() of wall_time, of which less is better"),
    ],
)
def test_a_rule_that_fails_where_the_named_figure_is_better_has_a_note(
    tare_here: Tare, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, what: str
) -> None:
    said = f"“fail if {rule}” fails where that is better, and passes where it is worse: it is of {what}"
    assert said in tare_here("check", folder, "--fail-if", rule).stdout.splitlines()
    assert said in json.loads(tare_here("check", folder, "--fail-if", rule, "--json").stdout)["notes"]
    page = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    annotated = tare_here("check", folder, "--fail-if", rule, "--summary", "github")
    assert f"::warning title=tare check::{said.replace('%', '%25')}" in annotated.stderr
    assert "fails where that is better" in page.read_text()


@pytest.mark.parametrize(
    "rule",
    [
        "value(rate) < 1 MB/s",
        "value() < 1 MB/s",
        "cv_ratio() > 9",
        "cv() > 90 %",
        "median() < 1 MB/s",
        "overhead(rate) > 5 %",
    ],
)
def test_an_elapsed_time_that_no_rule_looks_at_has_a_note(tare_here: Tare, folder: Path, rule: str) -> None:
    ended = tare_here("check", folder, "--fail-if", rule)
    assert ended.returncode == 0
    assert JOB in ended.stdout
    assert json.loads(tare_here("check", folder, "--fail-if", rule, "--json").stdout)["notes"] == [
        f"{JOB}; overhead(wall_time) > 5 % would."
    ]
    for more in ("overhead(wall_time) > 500 %", "value(wall_time) > 1 h"):
        assert JOB not in tare_here("check", folder, "--fail-if", rule, "--fail-if", more).stdout


def test_an_efficiency_that_no_longer_time_hides_behind(tare_here: Tare, tmp_path: Path) -> None:
    """The rate scales as it should on either network, and the job takes twice as long on one."""
    grown = Figure(name="rate", unit="MB/s", better=Better.HIGHER, level=100.0)

    def slowing(settings: object, fom: str) -> float:
        assert isinstance(settings, dict)
        if fom == "rate":
            return 1 / float(settings["nodes"])
        return 2.0 if settings["network"] == "overlay" else 1.0

    truth = Truth(
        factors={"network": ("host", "overlay"), "nodes": (1, 2, 4)},
        workloads={"solver": (grown, WALL)},
        slowing=slowing,
        noise=lognormal(0.005),
        blocks=6,
    )
    folder = write(truth, tmp_path / "e", seed=1)
    ended = tare_here("check", folder, "--fail-if", "efficiency(rate) < 70 %")
    assert ended.returncode == 0, ended.stderr
    assert JOB in ended.stdout
    turned = tare_here("check", folder, "--fail-if", "efficiency(rate) > 120 %").stdout
    assert "it is of efficiency() of rate, of which more is better" in turned
