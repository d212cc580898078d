"""Commands on a login node of the lab, and what `tare init` wrote there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tare.config import load_site
from tare.lab import Lab
from tare.plugins.backends.slurm.options import SlurmOptions


def on_login_node(lab: Lab, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on the lab's first node, with records and MPIs of the test's own."""
    own = [f"TARE_MPI={folder / 'none'}", f"XDG_STATE_HOME={folder / 'state'}"]
    return subprocess.run(
        lab.command("n1", ["env", "-C", str(folder), *own, *words]),
        env=os.environ | lab.env,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def call(lab: Lab, folder: Path, *words: str) -> str:
    done = on_login_node(lab, folder, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def written(folder: Path) -> SlurmOptions:
    options = load_site(str(folder / "venus/site.yaml")).platforms["bare"].options
    assert isinstance(options, SlurmOptions)
    return options
