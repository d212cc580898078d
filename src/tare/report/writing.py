"""Write the report into a folder, in one or several formats."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Collection
from pathlib import Path

from tare.core.campaign import Campaign
from tare.core.errors import UsageError
from tare.core.safe_folder import SafeFolder
from tare.report.charts.painting import Painter
from tare.report.charts.requested import NO_SELECTION, Selection
from tare.report.charts.telemetry import ReadTimeline
from tare.report.content import Content, content
from tare.report.formats import latex, markdown, tables, why_tables
from tare.report.formats.page import render
from tare.report.report_statistics import ReportStatistics


class Format(enum.StrEnum):
    """A format of the report."""

    HTML = "html"
    """One offline page that holds everything, with its charts as SVG, PNG and PDF files beside it."""
    MARKDOWN = "markdown"
    """A summary for a pull request."""
    LATEX = "latex"
    """Tables for a paper."""
    CSV = "csv"
    """The measured values, the numbers behind each chart, and those of *Why?*, for other programs."""


NAMES = {
    Format.HTML: "index.html",
    Format.MARKDOWN: markdown.NAME,
    Format.LATEX: latex.NAME,
    Format.CSV: tables.NAME,
}


def write_report(
    campaign: Campaign,
    statistics: ReportStatistics,
    folder: Path,
    template: Path | None = None,
    formats: Collection[Format] = (Format.HTML,),
    read_timeline: ReadTimeline = lambda attempt: None,
    painter: Painter | None = None,
    selection: Selection = NO_SELECTION,
    tell: Callable[[str], None] = lambda sentence: None,
) -> dict[Format, Path]:
    """Write the report into `folder`, and return the files by format; HTML and CSV also write ``charts/``,
    and CSV writes ``why/`` if there are profiled runs.

    `template` is a folder whose files replace those of the same name in TEMPLATES. `read_timeline` returns
    the telemetry of an attempt's nodes over time, or None. `painter` draws the pictures; by default this
    process does. `selection` is what a user asks to see. `tell` is called with a sentence on each chart that
    is missing though it was to be drawn. Raises UsageError if `template` has none of those files, or has one
    that Jinja cannot read.
    """
    from jinja2 import TemplateError

    painter = painter or Painter()
    drawn_by = painter if {Format.HTML, Format.CSV} & {*formats} else None
    found = content(
        campaign,
        statistics,
        painter=drawn_by,
        read_timeline=read_timeline,
        selection=selection,
    )
    home = Path(os.path.relpath(campaign.folder.resolve(), folder.resolve())).as_posix()
    home = campaign.pseudonyms.only(home)
    try:
        texts = {
            one: _text(one, campaign, found, template, home, painter) for one in Format if one in formats
        }
    except TemplateError as error:
        raise UsageError(f"template {template or 'of the report'}: {error}; mend the template") from error
    for fault in found.chart_faults:
        tell(fault)
    target = _target(folder, campaign.folder)
    for one, text in texts.items():
        (target / NAMES[one]).replace(text.encode())
    if Format.HTML in texts:
        _write_charts(found, target / "charts")
    if {Format.HTML, Format.CSV} & texts.keys():
        _write_numbers(found, target / "charts")
    if Format.CSV in texts:
        _write_why(statistics, found, target / why_tables.FOLDER)
    return {one: folder / NAMES[one] for one in texts}


def _target(folder: Path, campaign: Path) -> SafeFolder:
    """Return the folder to write to; one inside the campaign folder is untrusted, like all that is there."""
    if folder.is_relative_to(campaign) and folder != campaign and ".." not in folder.parts:
        return SafeFolder(campaign, folder.relative_to(campaign).as_posix())
    return SafeFolder(folder)


def _text(
    kind: Format, campaign: Campaign, found: Content, template: Path | None, home: str, painter: Painter
) -> str:
    match kind:
        case Format.HTML:
            return render(campaign, found, template, home, painter.scripts)
        case Format.MARKDOWN:
            return markdown.render_markdown(found, home, template)
        case Format.LATEX:
            return latex.render_latex(found, template)
        case Format.CSV:
            return tables.values_csv(found.values)


def _write_charts(found: Content, folder: SafeFolder) -> None:
    folder.make_folder()
    for figure in found.figures:
        (folder / f"{figure.name}.svg").replace(figure.picture.svg.encode(), is_synced=False)
        (folder / f"{figure.name}.png").replace(figure.picture.png, is_synced=False)
        (folder / f"{figure.name}.pdf").replace(figure.picture.pdf, is_synced=False)


def _write_numbers(found: Content, folder: SafeFolder) -> None:
    folder.make_folder()
    for figure in found.figures:
        (folder / f"{figure.name}.csv").replace(tables.figure_csv(figure).encode(), is_synced=False)


def _write_why(statistics: ReportStatistics, found: Content, folder: SafeFolder) -> None:
    for name, text in why_tables.why_csv(statistics, found.variants).items():
        (folder / name).replace(text.encode(), is_synced=False)
