"""Measure the time that `tare run` adds to Slurm jobs, compared with a plain loop of ``sbatch --wait``."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.rows import TARE, Row
from tare import lab
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import slurm

N_RUNS = 200
SPEC = LabSpec(nodes=2, networks={"host": LabNetwork(kind=LabNetworkKind.BRIDGE)})
SITE = """\
site: queue
lab: {nodes: 2, networks: {host: {kind: bridge}}}
platforms:
  queued: {backend: slurm, slurm: {login: n1, in_flight: 1}}
  packed: {backend: slurm, slurm: {login: n1, mode: packed}}
"""
STUDY = """\
study: queue
site: queue.yaml
platform: PLATFORM
workloads:
  echo:
    command: [sh, -c, "sleep 0.2; echo value: 1"]
    parameters: {size: 1}
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
factors: {workload: [echo], size: [SIZES]}
repeats: 4
"""
SCRIPT = "#!/bin/bash\n#SBATCH --output=/dev/null\nsleep 0.2; echo value: 1\n"


def measure() -> Iterator[Row]:
    """Yield the time per run of both, and their ratio."""
    if slurm.missing():
        yield Row("runs under Slurm", "left out", f"needs {', '.join(slurm.missing())}", "")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_RUNTIME_DIR"] = name  # a lab of our own, which `tare run` finds
        with lab.start(SPEC, owned=False) as running:
            running.add_service("slurm")
            plain_s = _plain(running, folder)
            for platform in ("queued", "packed"):
                tare_s = _tare(folder, platform)
                yield Row(
                    f"a run under Slurm, {platform}, of {N_RUNS}",
                    f"{tare_s / N_RUNS:.3f} s",
                    f"{plain_s / N_RUNS:.3f} s plain",
                    f"{tare_s / plain_s - 1:+.1%}; under +10 %",
                )


def _plain(running: lab.Lab, folder: Path) -> float:
    (folder / "job.sh").write_text(SCRIPT)
    loop = f"for i in $(seq {N_RUNS}); do sbatch --quiet --wait {folder}/job.sh; done"
    command = running.command("n1", ["sh", "-c", loop])
    return _timed(command, folder, os.environ | running.env)


def _tare(folder: Path, platform: str) -> float:
    (folder / "queue.yaml").write_text(SITE)
    sizes = ", ".join(str(size) for size in range(1, N_RUNS // 4 + 1))
    (folder / "study.yaml").write_text(STUDY.replace("PLATFORM", platform).replace("SIZES", sizes))
    return _timed([TARE, "run", "study.yaml", "--out", f"campaign-{platform}"], folder, dict(os.environ))


def _timed(command: list[str], folder: Path, env: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
