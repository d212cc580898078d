"""Every block of the page on programs works as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "programs.md").read_text()


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    n_commands = 0
    for language, need, body in re.findall(r"^```(\w+) ?(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        if language == "yaml":
            name = body.splitlines()[0].removeprefix("# file: ")
            (tmp_path / name).write_text(body)
            continue
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
            )
            printed = done.stdout + done.stderr
            assert (done.returncode != 0) == (need == "fails"), f"{command}\n{printed}"
            for line in expected.splitlines():
                assert line in printed, f"{command} does not print {line!r}:\n{printed}"
            n_commands += 1
    assert n_commands >= 7
