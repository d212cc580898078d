"""The table of docs/trust.md that 2,000 random campaigns make: ``python -m truth 2000 --page`` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from truth.counting import Table

BEGIN = "<!-- campaigns: made by python -m truth 2000 --page -->"
END = "<!-- end of campaigns -->"
PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
_HEAD = "| family | could be false | claimed | false | studies | rate [95 %] | of what |\n|" + " --- |" * 7


def rows(table: Table) -> str:
    """Return the table as the page has it."""
    return "\n".join([BEGIN, _HEAD, *(f"| {' | '.join(row)} |" for row in table.rows()), END])


def write(table: Table) -> None:
    """Write the table into the page, with the number of studies before it."""
    page = PAGE.read_text()
    PAGE.write_text(page[: page.index(BEGIN)] + rows(table) + page[page.index(END) + len(END) :])


def written() -> dict[str, tuple[float, str]]:
    """Return the rate of each family on the page, in percent, and of what it is."""
    text = PAGE.read_text()
    body = text[text.index(BEGIN) : text.index(END)]
    found = re.findall(r"^\| ([^|]+) \|(?: \d+ \|){4} ([\d.]+) % [^|]*\| ([^|]+) \|$", body, re.MULTILINE)
    return {family: (float(rate), of) for family, rate, of in found}
