"""Run a program behind the software that it needs, as a stage of an attempt does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tare.core.launch import Invocation
from tare.core.software import Layers
from tare.core.workload import Stage
from tare.probes.software import loaded, with_script


def run(
    work: Path, layers: Layers, *argv: str, role: str = "run", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    stage = with_script(Stage(argv=argv), layers)
    for name, text in stage.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    command = loaded(Invocation(argv=argv, env=env or {}), role, str(work))
    variables = {**os.environ, **command.env}
    return subprocess.run(command.argv, capture_output=True, text=True, check=False, env=variables)
