"""Every command of docs/import.md runs, on a tree of the form that the page tells of."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tare.cli.main import make_group
from tare.storage.campaign import read_campaign

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text()


def commands() -> list[list[str]]:
    """Return the words of every command on the page, comments taken off."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        text = block.replace("\\\n", " ")
        found += [shlex.split(line[2:], comments=True) for line in text.splitlines() if line.startswith("$ ")]
    return found


def log(factor: float) -> str:
    title = "# OSU MPI All-to-All Personalized Exchange Latency Test v5.6.2\n# Size       Avg Latency(us)\n"
    return title + "".join(f"{1 << power:<10d} {factor * (10 + power):17.2f}\n" for power in range(21))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for platform, factor in (("bare", 1.0), ("docker", 1.2)):
        for day in (1, 2, 3):
            file = tmp_path / "results" / "mpi" / platform / "ompi" / f"2026-01-0{day}" / "osu_alltoall.out"
            file.parent.mkdir(parents=True)
            file.write_text(log(factor + day / 100))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_of_the_page_runs(here: Path) -> None:
    words = commands()
    assert [one[:2] for one in words] == [
        ["tare", "import"],
        *[["tare", "published"]] * 3,
        ["tare", "compare"],
        ["tare", "published"],
    ]
    runner = CliRunner()
    for one in words:
        if one[1] == "compare":  # of a campaign of the reader's own: here, the figures themselves
            folder = here / "campaigns" / "ours"
            runner.invoke(
                make_group(), ["published", "hpcc-fabrics", "--out", str(folder)], catch_exceptions=False
            )
        done = runner.invoke(make_group(), one[1:], catch_exceptions=False)
        assert done.exit_code == 0, (one, done.output)
    assert len(read_campaign(here / "campaigns" / "osu").attempts) == 6


def test_options_that_the_page_names_are_those_of_the_command() -> None:
    shown = CliRunner().invoke(make_group(), ["import", "--help"], catch_exceptions=False).output
    named = set(re.findall(r"`(--[a-z-]+)", PAGE.partition("## Hold your results")[0]))
    assert {one for one in named if one not in shown} == set()


def test_the_first_dry_run_writes_nothing(here: Path) -> None:
    (command, *_) = commands()
    done = CliRunner().invoke(make_group(), [*command[1:], "--dry-run"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "would be imported" in done.output
    assert not (here / "campaigns").exists()
