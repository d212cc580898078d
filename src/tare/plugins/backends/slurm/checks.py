"""Check whether Slurm answers, and whether it would run a platform's jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tare.core.backend_plugin import CheckContext
from tare.core.case import Layout
from tare.core.checks import Finding
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.slurm.commands import Slurm
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.backends.slurm.script import render


def check_slurm(context: CheckContext, options: SlurmOptions) -> Iterator[Finding]:
    """Yield whether Slurm answers, has the platform's partition, and would run two ranks on two nodes."""
    slurm = Slurm(context.site.agent, options.login, {**os.environ, **context.env})
    what = f"{context.name}: Slurm"
    try:
        partitions = slurm.partitions()
    except BackendError as error:
        cure = "is slurmctld up, and does scontrol ping answer? Else name the host with 'slurm: {login: …}'"
        yield Finding(name=what, is_met=False, found=str(error), cure=cure)
        return
    known = ", ".join(partitions)
    if options.partition and not set(options.partition.split(",")) <= set(partitions):
        cure = f"set 'slurm: {{partition: …}}' to one of {known}"
        found = f"no partition {options.partition} is up"
        yield Finding(name=what, is_met=False, found=found, cure=cure)
        return
    yield Finding(name=what, is_met=True, found=f"partitions {known}")
    yield _test_only(slurm, context, options, what)


def _test_only(slurm: Slurm, context: CheckContext, options: SlurmOptions, what: str) -> Finding:
    task = Task(
        name="tare-doctor",
        folder=context.folder,
        steps=(),
        layout=Layout(nodes=2, ranks=2),
        platform=context.platform,
        timeout_s=60,
    )
    script = context.folder / "tare-doctor.sh"
    script.write_text(render([task], options))
    try:
        slurm.check(script)
    except BackendError as error:
        cure = "correct what it names in the platform's 'slurm'"
        return Finding(name=f"{what} takes jobs", is_met=False, found=str(error), cure=cure)
    finally:
        script.unlink()
    return Finding(name=f"{what} takes jobs", is_met=True, found="sbatch --test-only agrees")
