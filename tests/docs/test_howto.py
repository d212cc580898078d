"""Every command of the how-to pages runs, in order; where a page needs a cluster, a small one stands for it.

A block whose first line is `# file: NAME` is a file. A line `$ …` of a console block is a command, a comment
`# exit code N` its exit code, and the lines below it are in its output. `variants/PAGE/` holds files that
stand for those of the same name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
VARIANTS = Path(__file__).parent / "variants"
PAGES = {
    path.stem: path
    for path in (*sorted((ROOT / "docs" / "howto").glob("*.md")), ROOT / "docs" / "coming-from.md")
}
SOLVER = """#!/bin/sh
begin=$(date +%s%N)
seq "$2" >/dev/null
echo converged
echo "took $(($(date +%s%N) - begin))e-9 s"
"""
"""What stands for the program of docs/coming-from.md."""
IN_THE_LAB = sorted(path.name for path in VARIANTS.iterdir())
HERE = [name for name in PAGES if name not in IN_THE_LAB]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """A command of a page, the exit code that the page names, and what the page shows of its output."""

    line: str
    exit_code: int
    shown: list[str]


def files(page: Path) -> dict[str, str]:
    """Return the files of a page by their names."""
    bodies = [body for language, body in _BLOCK.findall(page.read_text()) if language != "console"]
    named = [body for body in bodies if body.startswith("# file: ")]
    return {body.partition("\n")[0].removeprefix("# file: "): body.partition("\n")[2] for body in named}


def commands(page: Path) -> list[Command]:
    """Return the commands of a page in their order."""
    found: list[Command] = []
    for language, body in _BLOCK.findall(page.read_text()):
        for line in body.splitlines() if language == "console" else ():
            if line.startswith("$ "):
                code = re.search(r"# exit code (\d+)$", line)
                found.append(Command(line[2:], int(code[1]) if code else 0, []))
            else:
                found[-1].shown.append(line)
    return found


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def play(page: Path, folder: Path, env: dict[str, str]) -> None:
    """Run the commands of a page in one shell's environment.

    Skips where this machine builds no lab, or no containers.
    """
    saved = folder / ".environment"
    for command in commands(page):
        line = command.line.replace("tare run ", "tare run --no-boost ")
        script = f"[ ! -e {saved} ] || . {saved}; {line}\ncode=$?; export -p > {saved}; exit $code"
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        if "user namespace" in done.stderr:
            pytest.skip(f"this machine builds no lab: {done.stderr.strip()}")
        if "no root file system" in done.stderr:
            pytest.skip(f"this machine has no containers for the lab: {done.stderr.strip()}")
        assert done.returncode == command.exit_code, f"{command.line}\n{done.stdout}{done.stderr}"
        for shown in command.shown:
            assert shown in done.stdout, f"{command.line} does not print {shown!r}:\n{done.stdout}"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which `tare` and a solver are found, with a lab of its own."""
    (tmp_path / "run").mkdir()
    (tmp_path / "bin").mkdir()
    solver = tmp_path / "bin" / "solver"
    solver.write_text(SOLVER)
    solver.chmod(0o755)
    path = f"{Path(sys.executable).parent}:{solver.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "XDG_RUNTIME_DIR": str(tmp_path / "run")}


@pytest.mark.parametrize("name", HERE)
def test_every_command_of_the_page_runs(name: str, tmp_path: Path, env: dict[str, str]) -> None:
    assert commands(PAGES[name])
    folder = tmp_path / "page"
    write(folder, files(PAGES[name]))
    play(PAGES[name], folder, env)


@pytest.mark.slow
@pytest.mark.lab
@pytest.mark.parametrize("name", IN_THE_LAB)
def test_every_command_of_the_page_runs_with_a_lab_for_the_cluster(
    name: str, tmp_path: Path, env: dict[str, str]
) -> None:
    assert commands(PAGES[name])
    folder = tmp_path / "page"
    write(folder, files(PAGES[name]))
    stand_ins = list((VARIANTS / name).iterdir())
    assert {one.name for one in stand_ins} <= {*files(PAGES[name])}, (
        "a stand-in for a file that the page has not"
    )
    for one in stand_ins:
        shutil.copy(one, folder)
    play(PAGES[name], folder, env)


@pytest.mark.parametrize("name", PAGES)
def test_the_studies_of_the_page_are_planned_as_they_are(
    name: str, tmp_path: Path, env: dict[str, str]
) -> None:
    texts = files(PAGES[name])
    write(tmp_path, texts)
    studies = [file for file, text in texts.items() if re.search(r"^study:", text, re.MULTILINE)]
    assert studies
    for study in studies:
        done = subprocess.run(
            ["tare", "plan", study], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_how_it_is_tested(name: str) -> None:
    assert "\n*Tested:*" in PAGES[name].read_text()
