"""`tare report`: one offline page that answers the study's question, and its charts."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from tare.cli.output import json_option, print_json
from tare.errors import CampaignError


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--output",
    "--out",
    "output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write here instead of DIR/report.",
)
@click.option(
    "--template",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take template.html, style.css or page.js from here where they are there.",
)
@click.option("--open", "is_opened", is_flag=True, help="Show the page in the browser.")
@json_option
def command(folder: Path, output: Path | None, template: Path | None, is_opened: bool, as_json: bool) -> None:
    """Write the report of the campaign in DIR: index.html, and charts/ as SVG and PNG.

    The page needs nothing but itself: it can be mailed, printed and read offline. A campaign that
    still runs, or has not begun, gives a page that says so.

    \b
    Examples:
      tare report campaigns/demo
      tare report campaigns/demo --output /tmp/demo-report --open
    """
    from tare.report import ReportAnswers, write_report
    from tare.store.campaign import read_campaign

    campaign = read_campaign(folder)
    answers = ReportAnswers.of(campaign)
    target = output or folder / "report"
    try:
        page = write_report(campaign, answers, target, template)
    except OSError as error:
        raise CampaignError.from_os(target, error) from error
    if as_json:
        charts = sorted(str(path) for path in (target / "charts").iterdir())
        print_json("tare.report/1", {"page": str(page), "charts": charts})
    else:
        click.echo(page)
    if is_opened:
        webbrowser.open(page.resolve().as_uri())
