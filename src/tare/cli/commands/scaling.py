"""`tare scaling`: show speedup and efficiency with more nodes, ranks or threads."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tare.core.campaign import Campaign
from tare.core.plan import Plan
from tare.core.scaling import ScalingCurve, ScalingKind
from tare.core.units import write_number
from tare.terminal.output import echo, json_option, plain, print_json, print_table


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--p-ref", type=float, metavar="SCALE", help="Speedups refer to this scale instead of the smallest."
)
@click.option(
    "--fom", "foms", multiple=True, metavar="NAME", help="Only this figure of merit; may be repeated."
)
@json_option
def command(folder: Path, p_ref: float | None, foms: tuple[str, ...], as_json: bool) -> None:
    """Show how each workload of the campaign in DIR scales, for each variant.

    The study's 'scaling' names the setting that grows, such as 'scaling: {strong: nodes}'. Without it, the
    nodes grow and the problem is fixed. Speedup and efficiency refer to the smallest scale that all
    variants have. Their 95 % intervals are paired by block and need three blocks. Amdahl's law needs three
    scales. The Universal Scalability Law, which has a peak of throughput, needs four.

    \b
    Examples:
      tare scaling campaigns/gromacs-networks
      tare scaling campaigns/gromacs-networks --p-ref 2 --fom ns_per_day
      tare published openfoam-fabrics --out /tmp/fabrics && tare scaling /tmp/fabrics
    """
    from tare.analysis.scales.scaling import scalings
    from tare.cli.commands.compare import require_known
    from tare.report.words.assumed import assumed_of_intervals
    from tare.storage.pseudonymous import read_shown

    campaign = read_shown(folder)
    require_known(foms, campaign)
    found = scalings(campaign, foms=foms, p_ref=p_ref)
    if as_json:
        print_json("tare.scaling/1", {"curves": found})
        return
    if not found:
        echo(_nothing_words(campaign, foms))
        return
    for index, group in enumerate(_groups(found)):
        if index:
            echo()
        _print(group, campaign.plan)
    if text := assumed_of_intervals(point.n_blocks for curve in found for point in curve.points):
        echo("", text)


def _nothing_words(campaign: Campaign, foms: Sequence[str]) -> str:
    """Return why there is no curve."""
    from tare.analysis.lines import has_lines
    from tare.analysis.scales.scaling import figures_that_scale

    if not has_lines(campaign.plan):
        return (
            "Nothing scales here: no two cases differ in nothing but nodes or ranks. Name what grows in the "
            "study, such as 'scaling: {strong: threads}'."
        )
    if not campaign.measured():
        return "Nothing is measured yet; 'tare status' shows what has run."
    if not foms and (others := figures_that_scale(campaign)):
        return (
            "Nothing scales here by default: none of the figures that people quote is an elapsed time or a "
            f"rate of work. Other figures are: name one, such as --fom {shlex.quote(others[0])}."
        )
    which = f"{', '.join(foms)}: no figure" if foms else "Nothing scales here: no figure of a run"
    return (
        f"{which} that counts is an elapsed time, in ms or longer units, or a rate of work. A time in µs or "
        "ns counts as a latency. That, or a bandwidth at one message size, is not divided among nodes."
    )


def _groups(found: Sequence[ScalingCurve]) -> list[list[ScalingCurve]]:
    """Return the curves grouped by table: one table for each workload, figure and kind of scaling."""
    groups: dict[tuple[object, ...], list[ScalingCurve]] = {}
    for curve in found:
        key = (curve.workload, curve.fom, curve.unit, curve.kind, curve.along, curve.held)
        groups.setdefault((*key, tuple(curve.at.items())), []).append(curve)
    return list(groups.values())


def _print(group: Sequence[ScalingCurve], plan: Plan) -> None:
    from tare.report.words.scaling import (
        efficiency_words,
        law_words,
        measured,
        remark_words,
        sentences,
        speedup_words,
    )

    first = group[0]
    held = f", {first.held} held" if first.held else ""
    at = "".join(f" {name}={value}" for name, value in first.at.items())
    heading = f"{first.workload}: {first.fom}{at}, {first.kind} scaling along {first.along}{held}"
    echo(heading, bold=True)
    places = list(dict.fromkeys(name for curve in group for name in curve.settings))
    sped = "speedup" if first.kind is ScalingKind.STRONG else "scaled speedup"
    rows = [
        [
            *(plan.written(name, curve.settings.get(name, ""), curve.workload) for name in places),
            write_number(point.scale),
            plain(measured(point.value, curve.unit)),
            plain(speedup_words(curve, point)),
            plain(efficiency_words(curve, point)),
            str(point.n_blocks),
            remark_words(point),
        ]
        for curve in group
        for point in curve.points
    ]
    columns = [*places, first.along, f"{first.fom}", sped, "efficiency", "n", "remark"]
    print_table(columns, rows, frozenset({first.along, "n"}))
    for curve in group:
        echo("", plain(f"{_place(curve, plan)}: {' '.join(sentences(curve))}"))
        for fit in curve.fits:
            if not fit.refusal:
                echo(f"  {fit.law}: {plain(law_words(fit))}")
    if refused := list(_refusals(group, plan)):
        echo("", *refused)


def _refusals(group: Sequence[ScalingCurve], plan: Plan) -> Iterator[str]:
    """Yield why laws were not fitted, and to which curves, unless it is so of all."""
    curves: dict[tuple[str, str], list[ScalingCurve]] = {}
    for curve in group:
        for fit in curve.fits:
            if fit.refusal:
                curves.setdefault((fit.law, fit.refusal), []).append(curve)
    for (law, refusal), those in curves.items():
        whose = "" if len(those) == len(group) else f" to {', '.join(_place(one, plan) for one in those)}"
        yield plain(f"{law} not fitted{whose}: {refusal}.")


def _place(curve: ScalingCurve, plan: Plan) -> str:
    """Return the settings that distinguish a curve, or its workload if there are none."""
    from tare.report.words.scaling import settings_words

    return settings_words(curve.settings, plan.kinds_of(curve.workload)) or curve.workload
