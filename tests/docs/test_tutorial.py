"""Every block of the tutorial works as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "tutorial.md").read_text()


class Block(NamedTuple):
    """A fenced block: its language, its title, and its lines."""

    language: str
    title: str
    lines: list[str]


def blocks() -> list[Block]:
    found = re.findall(r'^```(\w+)(?: title="(.*?)")?\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL)
    return [Block(language, title, body.splitlines()) for language, title, body in found]


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """Return each command of a console block with the lines that its output must hold."""
    found: list[tuple[str, list[str]]] = []
    for line in block.lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    n_commands = 0
    for block in blocks():
        if block.language == "yaml":
            name = block.lines[0].removeprefix("# file: ")
            (tmp_path / name).write_text("\n".join(block.lines) + "\n")
        elif block.title != "In the lab":
            for command, expected in commands(block):
                done = subprocess.run(
                    command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                for line in expected:
                    assert line in done.stdout, f"{command} does not print {line!r}:\n{done.stdout}"
                n_commands += 1
    assert n_commands >= 9


@pytest.mark.lab
def test_the_part_on_the_lab_does_what_it_says(tmp_path: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env["XDG_RUNTIME_DIR"] = str(tmp_path)  # a lab of its own, whatever is up
    for block in blocks():
        if block.title == "In the lab":
            for command, expected in commands(block):
                done = subprocess.run(
                    command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
                )
                if "user namespace" in done.stderr:
                    pytest.skip(f"this machine builds no lab: {done.stderr.strip()}")
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                assert all(line in done.stdout for line in expected)


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
