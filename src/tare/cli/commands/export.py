"""`tare export`: write every measurement as one tidy row."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tare.cli.options import OutputPath, redact_option
from tare.core.errors import UsageError, not_written
from tare.core.user_files import replacing

_FORMS = ("csv", "json", "parquet")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS),
    help="The file format.  [default: what the name of --output ends in, else csv]",
)
@click.option(
    "--output",
    "-o",
    type=OutputPath(path_type=Path, dir_okay=False),
    help="Write this file instead of standard output.",
)
@redact_option
def command(folder: Path, form: str | None, output: Path | None, redacted: tuple[str, ...]) -> None:
    """Write every measurement of the campaign in DIR as one row of a table.

    Columns: the run (schema_version, campaign, case, block, attempt, session, state, started_at), the case's
    settings, the coordinates of the value, then fom, unit, better and value. The table includes warm-up
    passes (block 0 and below) and runs that do not count. To leave them out, keep block ≥ 1 and state done.

    \b
    Examples:
      tare export campaigns/demo > demo.csv
      tare export campaigns/demo --format parquet --output demo.parquet
    """
    from tare.storage.export import Format, export
    from tare.storage.pseudonymous import read_shown

    form = form or _form_of(output)
    campaign = read_shown(folder, redacted)
    if output is None:
        if form == "parquet" and sys.stdout.isatty():
            raise UsageError("Parquet is not for a terminal; give --output FILE or redirect")
        export(campaign, Format(form), sys.stdout.buffer)
        sys.stdout.flush()
        return
    try:
        with replacing(output) as file:
            export(campaign, Format(form), file)
    except OSError as error:
        raise not_written(output, error, "choose another --output") from error


def _form_of(output: Path | None) -> str:
    """Return the format that a file's name ends in; CSV for a name without ending and for standard output."""
    ending = output.suffix.lower().removeprefix(".") if output else ""
    if ending and ending not in _FORMS:
        raise UsageError(
            f"{output}: there is no format .{ending}; let the name end in .csv, .json or .parquet, or give "
            f"--format {'|'.join(_FORMS)}"
        )
    return ending or "csv"
