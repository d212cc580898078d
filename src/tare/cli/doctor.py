"""`tare doctor`: what is missing on this machine, why it matters and how to get it."""

from __future__ import annotations

import sys

import click

from tare.cli.output import json_option, print_json, print_table

_MISSING_EXIT_CODE = 3


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Try what the lab needs, for real, and say what is missing, why it matters and how to get it.

    Exits with 3 where something is missing without which no lab can be built.

    \b
    Example:
      tare doctor
    """
    from tare.lab.requirements import check

    requirements = check()
    if as_json:
        print_json("tare.doctor/1", {"requirements": requirements})
    else:
        print_table(
            ("", "what", "found"),
            [(_state(one.is_met, one.is_needed), one.name, one.found) for one in requirements],
        )
        for one in requirements:
            if not one.is_met:
                click.echo(f"\n{one.name}: {one.why}.\n  {one.cure}")
    if any(one.is_needed and not one.is_met for one in requirements):
        sys.exit(_MISSING_EXIT_CODE)


def _state(is_met: bool, is_needed: bool) -> str:
    if is_met:
        return "ok"
    return "MISSING" if is_needed else "optional"
