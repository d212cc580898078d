"""`tare schema`: print the JSON Schema of study and site files, and of what commands print as JSON."""

from __future__ import annotations

import click

from tare.terminal.output import echo

INPUTS = ("study", "site")
OUTPUTS = (
    *("calibrate", "check", "claims", "clean", "compare", "curves", "doctor", "doctor.site", "doctor.study"),
    *("environment", "environment.diff", "export", "import", "init", "lab.rootfs", "lab.status", "log"),
    *("metrics", "parse", "plan", "predict", "published", "reparse", "report", "scaling", "seal", "serve"),
    *("serve.campaign", "serve.campaigns", "serve.log", "serve.run", "serve.runs", "status"),
    *("telemetry.import", "telemetry.show", "tolerance", "verify", "why", "workloads"),
)
"""The contracts of `tare.cli.json_schemas`, which takes long to import, without `tare.` and the version."""


@click.command()
@click.argument("name", type=click.Choice((*INPUTS, *OUTPUTS)), metavar="NAME")
def command(name: str) -> None:
    """Print the JSON Schema of the files or of the JSON that NAME names.

    NAME is study or site, for editors that complete and check YAML, or a contract of docs/json.md without
    its version, such as compare, lab.status or export: that which the JSON of commands names as its schema.

    \b
    Examples:
      tare schema study > study.schema.json
      tare schema compare > compare.schema.json

    At the top of a study, for the YAML language server:

    \b
      # yaml-language-server: $schema=study.schema.json
    """
    import msgspec

    if name in INPUTS:
        from tare.config import json_schema

        schema = json_schema(name)
    else:
        from tare.cli.json_schemas import output_schema

        schema = output_schema(name)
    echo(*msgspec.json.format(msgspec.json.encode(schema), indent=2).decode().split("\n"))
