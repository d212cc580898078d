"""Run the real command, as its users do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TARE = str(Path(sys.executable).with_name("tare"))

Tare = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tare(tmp_path: Path) -> Tare:
    """Run tare in an empty folder and return how it ended."""

    def tare(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [TARE, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            timeout=300,
            check=False,
        )

    return tare


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """Write a study of a workload declared in it; its command is a shell script."""

    def study(
        script: str = "echo value: 1.0", *, repeats: int = 5, levels: str = "[1, 2]", rest: str = ""
    ) -> Path:
        path = tmp_path / "study.yaml"
        path.write_text(
            f"""\
study: cli
question: Does it work?
reference: {{size: 1}}
workloads:
  echo:
    command: [sh, -c, {script!r}]
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    checks: [{{matches: 'value:'}}]
factors:
  workload: [echo]
  size: {levels}
repeats: {repeats}
{rest}
"""
        )
        return path

    return study
