"""`tare report`: write the report as one offline page, with charts, and with tables for other texts."""

from __future__ import annotations

import contextlib
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
import msgspec

from tare.cli.commands.compare import read_reference, require_known
from tare.cli.options import OutputPath, mean_option, redact_option, unpaired_option
from tare.core.campaign import Campaign
from tare.core.collection import no_collection
from tare.core.comparison import Mean
from tare.core.errors import CampaignError, DiskFull, TareError, UnreadableFile, UsageError, not_written
from tare.core.values import Settings
from tare.terminal.output import at_work, echo, json_option, print_json

if TYPE_CHECKING:
    from tare.report.writing import Format


class _Options(TypedDict):
    """The options of the command that shape the report."""

    template: Path | None
    formats: tuple[str, ...]
    foms: tuple[str, ...]
    charts: tuple[str, ...]
    bases: tuple[str, ...]
    calibrated: Path | None
    unpaired: bool
    mean: str
    redacted: tuple[str, ...]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--output",
    "--out",
    "output",
    type=OutputPath(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write to this folder instead of DIR/report.",
)
@click.option(
    "--template",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Use templates of this folder instead of Tare's own: template.html, style.css, verdicts.html …",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["html", "markdown", "latex", "csv", "all"]),
    help="Write the page, a Markdown summary, LaTeX tables or CSV; may be repeated.  [default: html]",
)
@click.option(
    "--fom",
    "foms",
    multiple=True,
    metavar="NAME",
    help="Show this figure of merit in charts, scaling and values; may be repeated.",
)
@click.option(
    "--chart",
    "charts",
    multiple=True,
    metavar="FOM:FACTOR|KIND",
    help="Draw this figure of merit against this factor, too, or a kind of chart; may be repeated.",
)
@click.option(
    "--base",
    "bases",
    multiple=True,
    metavar="KEY=VALUE",
    help="Draw the speedup of all sides over this one; may be repeated.  [default: the study's reference]",
)
@click.option(
    "--calibration",
    "calibrated",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Include the false alarms that 'tare calibrate' found at this site; DIR is its campaign.",
)
@unpaired_option
@mean_option
@redact_option
@click.option("--open", "is_opened", is_flag=True, help="Open the page in the browser.")
@json_option
def command(
    folder: Path, output: Path | None, is_opened: bool, as_json: bool, **options: Unpack[_Options]
) -> None:
    """Write the report of the campaign in DIR: index.html, and charts/ as SVG, PNG, PDF and CSV.

    The page is one file that can be mailed, printed and read offline. Secrets, and what --redact names, are
    removed from it. They are not removed from DIR itself, which holds the outputs as printed. A campaign
    that still runs, or has not begun, gives a page that states this. summary.md is for a pull request,
    tables.tex for a paper, with \\input, and values.csv has every measured value;
    why/ has what profiled runs say, as CSV.

    \b
    Examples:
      tare report campaigns/demo
      tare report campaigns/demo --output /tmp/demo-report --open
      tare report campaigns/demo --format markdown --format latex
      tare report campaigns/demo --fom latency --format all
      tare report campaigns/demo --chart latency:network --chart scatter
      tare report campaigns/storage --base storage=direct --base io=none
      tare report campaigns/demo --calibration campaigns/calibrate-lab
      tare report campaigns/demo --redact acme --redact '/node[0-9]+/'     for others to read
    """
    from tare.report.writing import Format

    wanted = set(Format) if "all" in options["formats"] else {Format(one) for one in options["formats"]}
    wanted = wanted or {Format.HTML}
    if is_opened and Format.HTML not in wanted:
        raise UsageError("--open shows the page; add --format html")
    target = output or folder / "report"
    with at_work("writing the report"):
        try:
            with no_collection():  # a tenth of the time; a report makes few cycles
                files = _write(folder, target, wanted, options)
        except OSError as error:
            raise _not_written(error, target, is_given=output is not None) from error
    page = files.get(Format.HTML)
    if as_json:
        has_charts = bool(wanted & {Format.HTML, Format.CSV})
        drawn = sorted(str(path) for path in (target / "charts").iterdir()) if has_charts else []
        named = {kind.value: str(path) for kind, path in files.items()}
        why = sorted(str(path) for path in (target / "why").glob("*.csv")) if Format.CSV in wanted else []
        document = {"page": page and str(page), "charts": drawn, "why": why, "files": named}
        print_json("tare.report/1", document)
    else:
        echo(*map(str, files.values()))
    if is_opened and page:
        webbrowser.open(page.resolve().as_uri())


def _not_written(error: OSError, target: Path, *, is_given: bool) -> TareError:
    """Return the error for a report in `target`, which the user gave, or which a campaign has."""
    fault, cure = CampaignError.from_os(target, error), "choose another --output"
    if isinstance(fault, DiskFull) or isinstance(error, UnreadableFile):
        return fault
    if is_given:
        return not_written(Path(error.filename or target), error, cure)
    return CampaignError(f"{fault}; {cure}")


def _write(folder: Path, target: Path, wanted: set[Format], options: _Options) -> dict[Format, Path]:
    """Write the report on the campaign in `folder` into `target`. Raises OSError if that is not possible."""
    from tare.app.timelines import timelines
    from tare.report.charts.painting import Painter, parallel_painter
    from tare.report.charts.requested import Selection, read_request
    from tare.report.report_statistics import ReportStatistics
    from tare.report.writing import Format, write_report
    from tare.storage.pseudonymous import read_shown

    with parallel_painter() if Format.HTML in wanted else contextlib.nullcontext(Painter()) as painter:
        campaign = _campaign(folder, options)
        foms, calibrated = options["foms"], options["calibrated"]
        require_known(foms, campaign)
        base = _base(campaign, options["bases"])
        requests = tuple(read_request(one, campaign) for one in options["charts"])
        found = read_shown(calibrated, options["redacted"]) if calibrated else None
        return write_report(
            campaign,
            ReportStatistics.of(campaign, found, foms),
            target,
            options["template"],
            wanted,
            timelines(campaign),
            painter,
            Selection(foms, base, requests),
            lambda sentence: echo(f"tare: {sentence}", err=True),
        )


def _campaign(folder: Path, options: _Options) -> Campaign:
    from tare.storage.manifest import with_altered
    from tare.storage.pseudonymous import read_shown

    campaign = msgspec.structs.replace(
        read_shown(folder, options["redacted"]), is_unpaired=options["unpaired"], mean=Mean(options["mean"])
    )
    return with_altered(campaign)


def _base(campaign: Campaign, texts: Sequence[str]) -> Settings | None:
    """Return the settings that `texts` name. Raises UsageError if no case has them."""
    if not texts:
        return None
    from tare.analysis.scales.common_base import is_of

    base = read_reference(campaign, [*map(campaign.pseudonyms.only, texts)], option="--base") or {}
    if not any(is_of(case.settings, base) for case in campaign.plan.cases):
        raise UsageError(f"--base {' '.join(texts)}: no case of this campaign has these settings")
    return base
