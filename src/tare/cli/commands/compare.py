"""`tare compare`: every contender against its reference, with intervals and verdicts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from tare.cli.output import has_colour, json_option, print_json, print_table
from tare.errors import UsageError
from tare.model.campaign import Campaign
from tare.model.comparison import Comparison, Correction, Verdict
from tare.model.plan import Plan
from tare.model.values import Scalar, Settings, is_written
from tare.units import Dimension, parse_quantity

_WORDS = {
    Verdict.WORSE: "worse",
    Verdict.BETTER: "better",
    Verdict.EQUIVALENT: "same",
    Verdict.UNDECIDED: "undecided",
}
_COLOURS = {Verdict.WORSE: 208, Verdict.BETTER: 33}
"""Of the 256: orange and blue differ for every eye."""

_TOGETHER = {
    Correction.HOLM: "The chance that any of the {n} verdicts claims something false is at most {alpha} %.",
    Correction.FDR: "Of the claims that the {n} verdicts make, at most {alpha} % are false in the mean.",
    Correction.NONE: "Each of the {n} verdicts by itself claims something false with a chance of {alpha} %.",
}
"""How sure verdicts are together."""


def share_of(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return ``3%`` as 0.03, for click."""
    if value is None:
        return None
    try:
        share = parse_quantity(value, Dimension.FRACTION)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    if share < 0:
        raise click.BadParameter(f"{value!r} is less than nothing; write for example 2%", context, parameter)
    return share


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="KEY=VALUE",
    help="Hold against this, not the study's own.",
)
@click.option(
    "--margin", callback=share_of, metavar="SHARE", help="Smaller than this is the same, such as 3%."
)
@click.option(
    "--fom", "foms", multiple=True, metavar="NAME", help="Only this figure of merit; may be repeated."
)
@click.option(
    "--all", "is_all", is_flag=True, help="Show every figure and coordinate, such as each message size."
)
@click.option(
    "--correction",
    type=click.Choice([one.value for one in Correction]),
    help="What holds for all rows at once: holm, the default, or fdr, the default with --all and --json.",
)
@click.option("--against", metavar="PUBLISHED", help="Hold against published results: see 'tare published'.")
@json_option
def command(
    folder: Path,
    references: tuple[str, ...],
    margin: float | None,
    foms: tuple[str, ...],
    is_all: bool,
    correction: str | None,
    against: str | None,
    as_json: bool,
) -> None:
    """Hold every contender of the campaign in DIR against its reference.

    One row a contender, workload and figure of merit: the ratio over all coordinates, paired by
    block, less one, with its 95 % interval. A verdict is drawn only from three blocks on, and among all
    rows: one in twenty tests of nothing finds a difference. With holm the chance that any verdict of the
    table is false is at most 5 %; with fdr at most 5 % of those that claim something are, in the mean.

    \b
    Examples:
      tare compare campaigns/demo
      tare compare campaigns/demo --fom latency --all
      tare compare campaigns/demo --fom telemetry.cpu_system --fom telemetry.wire_packet_size
      tare compare campaigns/demo --reference network=overlay --margin 5%
      tare compare campaigns/ours --against published:hpcc-fabrics/ib-100g
    """
    from tare.answers.compare import aggregates, comparisons
    from tare.cli.confounding import confounders_body, print_confounders
    from tare.cli.doubts import doubts_body, print_doubts
    from tare.store.campaign import read_campaign

    campaign = read_campaign(folder)
    is_listing = is_all or as_json or against is not None
    chosen = Correction(correction) if correction else Correction.FDR if is_listing else Correction.HOLM
    if against is not None:
        if references:
            raise UsageError("--against is the reference; leave --reference out")
        _compare_against(campaign, against, margin, foms, chosen, as_json=as_json)
        return
    reference = read_reference(campaign, references)
    require_known(foms, campaign)
    answer = comparisons if is_listing else aggregates
    found = answer(campaign, reference=reference, margin=margin, correction=chosen, foms=foms)
    if as_json:
        body = {"comparisons": [_body(one) for one in found], **doubts_body(campaign, reference)}
        body["confounders"] = confounders_body(campaign, reference)
        print_json("tare.compare/1", body)
        return
    rows = found if foms or is_listing else main_rows(found)
    print_comparisons(campaign, rows, reference or campaign.plan.reference, margin)
    print_doubts(campaign)
    print_confounders(campaign, reference)


def _compare_against(
    campaign: Campaign,
    text: str,
    margin: float | None,
    foms: Sequence[str],
    correction: Correction,
    *,
    as_json: bool,
) -> None:
    from tare.answers.against import against
    from tare.cli.against import print_against, read_against

    theirs = read_against(text)
    require_known(foms, campaign)
    found = against(campaign, theirs, margin=margin, correction=correction, foms=foms)
    if as_json:
        print_json("tare.compare/1", {"against": text, "comparisons": [_body(one) for one in found]})
    else:
        print_against(campaign, theirs, found, text)


def main_rows(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the figures of merit that people quote, or all where no workload has such."""
    return [one for one in found if one.is_primary] or list(found)


def read_reference(campaign: Campaign, texts: Sequence[str]) -> dict[str, Scalar] | None:
    """Return the settings that `texts` name, each value as the cases have it; None to keep the study's."""
    plan = campaign.plan
    if not texts:
        if not plan.reference:
            raise UsageError(
                f"study {plan.study} names no reference; give one with --reference KEY=VALUE, where KEY is "
                f"one of what varies: {', '.join(plan.varied) or 'nothing'}"
            )
        return None
    reference: dict[str, Scalar] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"--reference {text}: write KEY=VALUE, such as network=host")
        levels = dict.fromkeys(case.settings[name] for case in plan.cases if name in case.settings)
        reference[name] = next((level for level in levels if is_written(level, value)), value)
    return reference


def require_known(foms: Sequence[str], campaign: Campaign) -> None:
    """Raise UsageError, with what there is to choose from, unless the campaign has all of `foms`."""
    measured = {series.fom for attempt in campaign.attempts for series in attempt.series}
    measured |= {series.fom for attempt in campaign.attempts for series in attempt.telemetry_series}
    known = {fom.name for foms in campaign.plan.foms.values() for fom in foms} | measured
    for fom in foms:
        if fom not in known:
            raise UsageError(
                f"--fom {fom}: no workload of this campaign has it; choose from {', '.join(sorted(known))}"
            )


def _body(one: Comparison) -> dict[str, object]:
    return {
        "fom": one.fom,
        "unit": one.unit,
        "better": one.better,
        "at": one.at,
        "reference": one.reference,
        "contender": one.contender,
        "n_blocks": one.n_blocks,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "confidence": one.confidence,
        "verdict": one.verdict,
        "note": one.note,
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
        "p_equivalence": one.p_equivalence,
        "p_equivalence_adjusted": one.p_equivalence_adjusted,
        "family": one.family,
        "correction": one.correction,
        "hodges_lehmann": one.hodges_lehmann,
        "detectable": one.detectable,
        "more_blocks": one.more_blocks,
    }


def print_comparisons(
    campaign: Campaign, found: Sequence[Comparison], reference: Settings, margin: float | None = None
) -> None:
    """Print one row a comparison, and what its columns mean."""
    from tare.report.words.numbers import is_manifold

    if not found:
        click.echo("Nothing to compare yet; 'tare status' shows what has run.")
        return
    cases = campaign.cases
    written = campaign.plan.written
    against = " · ".join(written(name, value) for name, value in reference.items())
    places = _telling(found, leave_out=reference)
    columns = ("contender", "workload", "at", "figure of merit", f"against {against}", "n", "verdict")
    rows = [
        (
            _contender(cases[one.contender_case].settings, reference, campaign.plan),
            str(one.at["workload"]),
            " ".join(f"{name}={written(name, one.at[name])}" for name in places if name in one.at),
            f"{one.fom}, {one.unit}",
            format_ratio(one),
            str(one.n_blocks),
            verdict_words(one),
        )
        for one in found
    ]
    shown = [index for index, name in enumerate(columns) if name != "at" or places]
    print_table(
        [columns[index] for index in shown],
        [[row[index] for index in shown] for row in rows],
        numeric=frozenset({"n"}),
    )
    margin = campaign.plan.margin if margin is None else margin
    click.echo(
        f"\nEach is the ratio to {against}, less one, with its {found[0].confidence:.0%} interval, paired "
        f"over n blocks;\nsame where the whole interval is within ± {margin * 100:.3g} %."
    )
    if any(one.ratio is not None and is_manifold(one.ratio) for one in found):
        click.echo(f"Beyond tenfold it is the ratio itself: 161 × or 1/161 × that of {against}.")
    if found[0].family > 1:
        alpha = f"{100 - found[0].confidence * 100:.3g}"
        click.echo(_TOGETHER[found[0].correction].format(n=found[0].family, alpha=alpha))


def _contender(settings: Settings, reference: Settings, plan: Plan) -> str:
    return " · ".join(plan.written(name, settings.get(name, "none")) for name in reference)


def _telling(found: Iterable[Comparison], leave_out: Settings) -> list[str]:
    """Return the names that tell rows apart: not those that the workload or a name before them implies."""
    places = [one.at for one in found]
    names = dict.fromkeys(name for at in places for name in at if name not in leave_out)
    telling = ["workload"]
    for name in names:
        seen: dict[tuple[Scalar | None, ...], Scalar | None] = {}
        for at in places:
            key = tuple(at.get(before) for before in telling)
            if seen.setdefault(key, at.get(name)) != at.get(name):
                telling.append(name)
                break
    return telling[1:]


def format_ratio(one: Comparison) -> str:
    """Return a ratio less one, with as many digits as its interval allows: ``+68 % [+61, +75]``.

    Beyond tenfold it is the ratio itself, in the report's words: ``161 × [155, 167]``.
    """
    from tare.report.words.costs import factor
    from tare.report.words.numbers import is_manifold

    if one.ratio is None:
        return "–"
    if is_manifold(one.ratio):
        return " ".join(str(factor(one.ratio, one.low, one.high)).split())
    if one.low is None or one.high is None:
        return f"{_percent(one.ratio, 1)} %"
    half = (one.high - one.low) * 50
    digits = 0 if half >= 3 else 1 if half >= 0.3 else 2
    low, high = _percent(one.low, digits), _percent(one.high, digits)
    return f"{_percent(one.ratio, digits)} % [{low}, {high}]"


def _percent(ratio: float, digits: int) -> str:
    return f"{(ratio - 1) * 100:+.{digits}f}".replace("-", "−")


def verdict_words(one: Comparison) -> str:
    """Return a verdict as people read it, with what would decide it and its note."""
    text = f"{one.verdict.sign} {_WORDS[one.verdict]}"
    colour = _COLOURS.get(one.verdict)
    if colour is not None and has_colour(sys.stdout):
        text = click.style(text, fg=colour)
    needs = f"needs ~{one.more_blocks} more block{'s'[: one.more_blocks > 1]}" if one.more_blocks else ""
    rest = "; ".join(filter(None, (needs, one.note)))
    return f"{text}: {rest}" if rest else text
