"""Write a summary as GitHub-flavoured Markdown, for pull requests, job summaries and issues."""

from __future__ import annotations

from pathlib import Path

from tare.report.charts.palette import sign_of
from tare.report.content import Content
from tare.report.escaping import markdown
from tare.report.formats.changes import change_rows
from tare.report.formats.templates import text_environment
from tare.report.sections.overview import Overview
from tare.report.sections.trust import ResultQuality
from tare.report.words.changes import legend

NAME = "summary.md"
MOST_GAPS = 20
"""The most rows of the table of missing runs."""

MOST_ROWS = 60
"""The most rows of the table of a section: all figures of a suite such as HPCC, with its times."""


def render_markdown(found: Content, home: str, template: Path | None = None) -> str:
    """Return the summary of `found`; `home` is the relative path from it to the campaign folder."""
    environment = text_environment(template, markdown)
    environment.filters["sign"] = sign_of
    overview = found.part(Overview)
    variants, rows = change_rows(overview.maps if overview else ())
    return environment.get_template(NAME).render(
        found=found,
        home=home,
        overview=overview,
        quality=found.part(ResultQuality),
        contenders=variants,
        rows=rows,
        most_gaps=MOST_GAPS,
        most_rows=MOST_ROWS,
        legend=legend(),
    )
