"""Handle signals to a command that runs a campaign as Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from tare.core.interrupts import handled_as_interrupts
from tare.terminal.output import echo, leave_dead_terminal


@contextmanager
def signals_as_interrupts(arguments: str) -> Iterator[None]:
    """Handle other signals as Ctrl-C, and print the command with `arguments` that resumes the campaign.

    Signals that the parent process ignores, as nohup(1) does, stay ignored.
    """
    try:
        with handled_as_interrupts():
            yield
    except KeyboardInterrupt:
        leave_dead_terminal()
        echo(f"tare: interrupted; continue with: tare run {arguments}", err=True)
        raise click.exceptions.Exit(130) from None
