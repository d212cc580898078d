"""`tare schema`: print the JSON Schema of study and site files."""

from __future__ import annotations

import click

from tare.terminal.output import echo


@click.command()
@click.argument("kind", type=click.Choice(["study", "site"]))
def command(kind: str) -> None:
    """Print the JSON Schema of study or site files, for editors that complete and check YAML.

    \b
    tare schema study > study.schema.json
    and at the top of a study, for the YAML language server:
    # yaml-language-server: $schema=study.schema.json
    """
    import msgspec

    from tare.config import json_schema

    echo(*msgspec.json.format(msgspec.json.encode(json_schema(kind)), indent=2).decode().split("\n"))
