"""`tare clean`: what dead campaigns left behind on this machine, and in its Slurm's queue."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from tare import lab
from tare.backends import marks
from tare.backends.slurm.commands import Slurm
from tare.backends.slurm.leftovers import leftovers
from tare.errors import BackendError
from tare.store.campaign import JOURNAL
from tare.store.journal import is_held


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list it.")
def command(dry_run: bool) -> None:
    """End what campaigns left behind whose tare is gone: processes and Slurm jobs; forget labs that ended.

    Tare cleans up after itself, also when it is killed, but for jobs in a queue: going on with their
    campaign takes them over. This ends them, and looks again for the rest.

    \b
    Example:
      tare clean --dry-run
    """
    found = _end_processes(dry_run) + _end_jobs(dry_run)
    if not found:
        click.echo("nothing is left behind")


def _end_processes(is_dry: bool) -> int:
    leftover = marks.orphaned()
    for pid, label in leftover:
        click.echo(f"{'would end' if is_dry else 'ended'} process {pid} of {label}")
        if not is_dry:
            marks.end_marked(label)
    return len(leftover)


def _end_jobs(is_dry: bool) -> int:
    """End jobs of dead campaigns in this machine's Slurm, and in the lab's."""
    count = 0
    running = lab.find()  # which also forgets the state of labs that have ended
    queues = []
    if shutil.which("squeue") and ("SLURM_CONF" in os.environ or Path("/etc/slurm/slurm.conf").exists()):
        queues.append(Slurm((), None, os.environ))
    if running is not None and running.has_slurm:
        queues.append(Slurm([str(lab.AGENT)], running.topology.nodes[0], {**os.environ, **running.env}))
    for slurm in queues:
        try:
            jobs = leftovers(slurm, lambda folder: is_held(folder / JOURNAL))
            if jobs and not is_dry:
                slurm.cancel([job.id for job in jobs])
        except BackendError as error:
            click.echo(f"tare: Slurm's queue could not be looked at: {error}", err=True)
            continue
        for job in jobs:
            click.echo(f"{'would cancel' if is_dry else 'cancelled'} Slurm job {job.id} of {job.comment}")
        count += len(jobs)
    return count
