"""`tare curves`: show Hockney's line, crossovers and saturation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tare.cli.options import parse_share
from tare.core.curves import Crossover, HockneyFit, Saturation
from tare.core.plan import Plan
from tare.core.values import Settings, with_coordinates
from tare.terminal.output import echo, json_option, plain, print_json, print_table

_NOTHING = (
    "No curves here: no time was measured at several message sizes, no variants cross, and no figure "
    "nears its best along threads or another number. 'tare scaling' shows what more nodes or ranks give."
)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--margin",
    callback=parse_share,
    metavar="SHARE",
    help="Saturated means within this of the best.  [default: 5%]",
)
@json_option
def command(folder: Path, margin: float | None, as_json: bool) -> None:
    """Show fits, crossovers and saturation of the primary figures of merit of the campaign in DIR.

    Hockney's line t = t0 + m/r∞ fits times against message size: latency t0, asymptotic bandwidth r∞, and
    the size n½ that reaches half of it. A crossover is where one of two variants becomes better than the
    other. Saturation is the fewest threads, or the smallest of another number, that come near the best
    value; 'tare scaling' shows what more nodes or ranks give.

    \b
    Examples:
      tare curves campaigns/network-tools
      tare curves campaigns/storage --margin 10%
    """
    from tare.analysis.scales.curves import SATURATION_MARGIN, curves
    from tare.report.words.assumed import assumed_of_intervals
    from tare.storage.pseudonymous import read_shown

    campaign = read_shown(folder)
    found = curves(campaign, margin=SATURATION_MARGIN if margin is None else margin)
    if as_json:
        print_json(
            "tare.curves/1",
            {"hockney": found.hockney, "crossovers": found.crossovers, "saturations": found.saturations},
        )
        return
    if not (found.hockney or found.crossovers or found.saturations):
        echo(_NOTHING)
        return
    _print_hockney(found.hockney, campaign.plan)
    _print_crossovers(found.crossovers, campaign.plan)
    _print_saturations(found.saturations, campaign.plan)
    if text := assumed_of_intervals(found.numbers_of_blocks):
        echo("", text)


def _print_hockney(found: Sequence[HockneyFit], plan: Plan) -> None:
    from tare.report.words.curves import misfit_words
    from tare.report.words.scaling import measured

    if not found:
        return
    echo("Time against message size: t = t0 + m/r∞", bold=True)
    rows = [
        (
            one.workload,
            _settings_text(plan, one.workload, one.settings, one.at),
            one.fom,
            plain(measured(one.latency, one.unit)),
            plain(measured(one.bandwidth, "MB/s")),
            plain(measured(one.half_size, "B")),
            str(one.n_blocks),
            one.refusal or plain(misfit_words(one)),
        )
        for one in found
    ]
    print_table(("workload", "at", "figure", "t0", "r∞", "n½", "n", "misses by"), rows, frozenset({"n"}))


def _print_crossovers(found: Sequence[Crossover], plan: Plan) -> None:
    from tare.report.words.curves import crossover_words

    for one in found:
        settings = _settings_text(plan, one.workload, one.settings, one.at)
        sentence = plain(crossover_words(one, plan.kinds_of(one.workload)))
        echo("", f"{one.workload}{' ' * bool(settings)}{settings}, {one.fom}: {sentence}")


def _print_saturations(found: Sequence[Saturation], plan: Plan) -> None:
    from tare.report.words.curves import saturation_words
    from tare.report.words.scaling import measured

    if not found:
        return
    echo("", f"Saturation: within {found[0].margin * 100:.6g} % of the best", bold=True)
    rows = [
        (
            one.workload,
            _settings_text(plan, one.workload, one.settings, one.at),
            one.fom,
            plain(measured(one.plateau, one.unit)),
            str(one.n_blocks),
            plain(saturation_words(one, plan.kinds_of(one.workload))),
        )
        for one in found
    ]
    print_table(("workload", "at", "figure", "best", "n", "reached"), rows, frozenset({"n"}))


def _settings_text(plan: Plan, workload: str, settings: Settings, at: Settings) -> str:
    both = with_coordinates(settings, at).items()
    return " ".join(f"{name}={plan.written(name, value, workload)}" for name, value in both)
