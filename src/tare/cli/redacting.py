"""The option `--redact`: names that pseudonyms replace wherever a campaign is shown."""

from __future__ import annotations

import click


def checked(context: click.Context, parameter: click.Parameter, entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return `entries` if all of them are valid words or patterns, for click; raises BadParameter."""
    if not entries:
        return entries
    from tare.core.pseudonyms import MOST_ENTRIES, fault_of

    for entry in entries:
        if fault := fault_of(entry):
            raise click.BadParameter(f"{entry[:100]!r} {fault}", context, parameter)
    if len(entries) > MOST_ENTRIES:
        raise click.BadParameter(f"more than {MOST_ENTRIES}; use patterns", context, parameter)
    return entries


redact_option = click.option(
    "--redact",
    "redacted",
    multiple=True,
    metavar="WORD|/REGEX/",
    callback=checked,
    help="Show a sign such as ‹redacted-1› in the place of this word, or of what this pattern matches; may "
    "be repeated, and adds to 'redact' of the site.",
)
