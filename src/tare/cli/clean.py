"""`tare clean`: what dead campaigns left behind on this machine."""

from __future__ import annotations

import click

from tare import lab
from tare.backends import marks


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list it.")
def command(dry_run: bool) -> None:
    """End the processes that campaigns left behind whose tare is gone, and forget labs that are.

    Tare cleans up after itself, also when it is killed; this looks again.
    """
    leftovers = marks.orphaned()
    for pid, label in leftovers:
        click.echo(f"{'would end' if dry_run else 'ended'} process {pid} of {label}")
        if not dry_run:
            marks.end_marked(label)
    lab.find()  # forgets the state of labs that have ended
    if not leftovers:
        click.echo("nothing is left behind")
