"""`tare compare`: compare every contender with its reference, with intervals and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from tare.analysis.named_settings import no_reference, values_of_cases
from tare.cli.comparison_table import describe_verdict, format_ratio, named_with_unit, print_comparisons
from tare.cli.options import mean_option, parse_share, unpaired_option
from tare.core.campaign import Campaign
from tare.core.collection import no_collection
from tare.core.comparison import Comparison, Correction, Mean
from tare.core.errors import UsageError
from tare.core.values import Scalar, Settings
from tare.terminal.output import echo, json_fields, json_option, print_json, print_table

_PUBLISHED = "published:"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="KEY=VALUE",
    help="Compare with this instead of the study's reference.",
)
@click.option(
    "--margin",
    callback=parse_share,
    metavar="SHARE",
    help="Smaller differences count as equivalent, such as 3%.",
)
@click.option(
    "--fom", "foms", multiple=True, metavar="NAME", help="Only this figure of merit; may be repeated."
)
@click.option(
    "--all", "is_all", is_flag=True, help="Show every figure at every coordinate, such as each message size."
)
@click.option(
    "--correction",
    type=click.Choice([one.value for one in Correction]),
    help="The correction for multiple comparisons.  [default: holm for figures, fdr for their points]",
)
@unpaired_option
@mean_option
@click.option(
    "--against", metavar="PUBLISHED", help="Compare with published results; 'tare published' lists them."
)
@json_option
@no_collection()
def command(
    folder: Path,
    references: tuple[str, ...],
    margin: float | None,
    foms: tuple[str, ...],
    is_all: bool,
    correction: str | None,
    unpaired: bool,
    mean: str,
    against: str | None,
    as_json: bool,
) -> None:
    """Compare every contender of the campaign in DIR with its reference.

    Prints one row for each contender, workload and figure of merit: the change against the reference over
    all coordinates, paired by block, with its 95 % interval. A verdict needs at least three blocks.

    Verdicts are corrected for multiple comparisons within families: the main figures, the other figures,
    the message sizes that the report quotes, and all other points (--all). With holm, the probability of
    any false difference in a family is at most 5 %, and so is that of any false equivalence. With fdr, at
    most 5 % of the claimed ones are false on average. A row has the same verdict in every output.

    Only runs that ran together are compared, unless --unpaired is given (docs/sessions.md).

    \b
    Examples:
      tare compare campaigns/demo
      tare compare campaigns/demo --fom latency --all
      tare compare campaigns/demo --fom telemetry.cpu_system --fom telemetry.wire_packet_size
      tare compare campaigns/demo --reference network=overlay --margin 5%
      tare compare campaigns/ours --against published:hpcc-fabrics/ib-100g
    """
    from tare.analysis.quoted_figures import quoted
    from tare.analysis.verdicts.compare import aggregates, comparisons
    from tare.cli.caveats import caveats_body, print_caveats
    from tare.storage.pseudonymous import read_shown

    campaign = msgspec.structs.replace(read_shown(folder), is_unpaired=unpaired, mean=Mean(mean))
    if margin is not None:  # quality warnings are about this question, too
        campaign = msgspec.structs.replace(
            campaign, plan=msgspec.structs.replace(campaign.plan, margin=margin)
        )
    chosen = Correction(correction) if correction else None
    if against is not None:
        if references:
            raise UsageError("--against is the reference; leave --reference out")
        _compare_against(campaign, against, foms, chosen or Correction.FDR, as_json=as_json)
        return
    reference = read_reference(campaign, [*map(campaign.pseudonyms.only, references)])
    require_known(foms, campaign)
    if as_json:
        body: dict[str, object] = {
            name: [_body(one) for one in compute(campaign, reference=reference, correction=chosen, foms=foms)]
            for name, compute in (("figures", aggregates), ("comparisons", comparisons))
        }
        print_json("tare.compare/1", body | caveats_body(campaign, reference))
        return
    compute = comparisons if is_all else aggregates
    found = compute(campaign, reference=reference, correction=chosen, foms=foms)
    rows = found if foms or is_all else quoted(found)
    print_comparisons(campaign, rows, reference or campaign.plan.reference, is_default=chosen is None)
    print_other_figures(rows, found)
    print_caveats(campaign, reference)


def _compare_against(
    campaign: Campaign,
    text: str,
    foms: Sequence[str],
    correction: Correction,
    *,
    as_json: bool,
) -> None:
    from tare.analysis.verdicts.other_campaign import against

    theirs = _read_against(text)
    require_known(foms, campaign)
    found = against(campaign, theirs, correction=correction, foms=foms)
    if as_json:
        print_json("tare.compare/1", {"against": text, "comparisons": [_body(one) for one in found]})
    else:
        _print_against(campaign, theirs, found, text)


_MOST_NAMED = 6


def print_other_figures(rows: Sequence[Comparison], found: Sequence[Comparison]) -> None:
    """Print which other figures than those in `rows` were measured, and their results."""
    from tare.report.words.further import figure_key, further_figures, further_words

    shown = {figure_key(one) for one in rows}
    if sentence := further_words(found, shown):
        names = [*dict.fromkeys(one[0].fom for one in further_figures(found, shown).values())]
        if len(names) == 1:
            echo(f"{sentence} --fom {names[0]} shows it.")
            return
        more = ", …" if len(names) > _MOST_NAMED else ""
        echo(f"{sentence} --fom NAME shows one of them: {', '.join(names[:_MOST_NAMED])}{more}.")


def read_reference(
    campaign: Campaign, texts: Sequence[str], option: str = "--reference"
) -> dict[str, Scalar] | None:
    """Return the settings that `texts` name, with the values of the cases; None to keep the study's.

    Raises UsageError if a text is not KEY=VALUE, or if neither `texts` nor the study names a reference.
    """
    plan = campaign.plan
    if not texts:
        if not plan.reference:
            raise no_reference(plan, "with --reference KEY=VALUE")
        return None
    named: dict[str, Scalar] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} {text}: write KEY=VALUE, such as network=host")
        if named.setdefault(name, value) != value:
            raise UsageError(f"{option} {text}: {name} is there twice; leave one out")
    return values_of_cases(plan, named)


def require_known(foms: Sequence[str], campaign: Campaign) -> None:
    """Raise UsageError, with the figures to choose from, unless the campaign has all of `foms`."""
    from tare.analysis.known_figures import require_figures

    require_figures(foms, campaign, "--fom")


def _body(one: Comparison) -> dict[str, object]:
    return json_fields(
        one,
        *("reference_case", "contender_case", "is_primary", "is_answer", "labels"),
        change=one.change,
        may_miss=one.may_miss,
        withheld_by=one.withheld_by or None,
    )


def _read_against(text: str) -> Campaign:
    """Return the results of ``published:NAME`` or ``published:NAME/SERIES`` as a campaign.

    Raises UsageError if there are none.
    """
    from tare.published import as_campaign, read_publication

    if not text.startswith(_PUBLISHED):
        raise UsageError(
            f"--against {text}: write published:NAME or published:NAME/SERIES; 'tare published' lists them"
        )
    return as_campaign(read_publication(text))


def _print_against(ours: Campaign, theirs: Campaign, found: Sequence[Comparison], text: str) -> None:
    """Print one row for each figure that both have, and the settings that differ."""
    if not found:
        from tare.analysis.verdicts.other_campaign import apart

        if reasons := apart(ours, theirs):
            echo(f"Nothing that is alike: {'; '.join(reasons)}.")
            return
        workloads = ", ".join(sorted({case.workload for case in theirs.plan.cases}))
        echo(f"Nothing in common: {text} has figures of {workloads} that this campaign has not measured.")
        return
    columns = ("here", "published", "workload", "at", "figure of merit", "ratio − 1", "n", "verdict")
    rows = [
        (
            _settings_text(ours.cases[one.contender_case].settings, ours.plan.varied),
            _settings_text(theirs.cases[one.reference_case].settings, theirs.plan.varied),
            str(one.at["workload"]),
            " ".join(f"{name}={value}" for name, value in one.at.items() if name != "workload"),
            named_with_unit(one.fom, one.unit),
            format_ratio(one),
            str(one.n_blocks),
            describe_verdict(one),
        )
        for one in found
    ]
    print_table(columns, rows, frozenset({"n"}), optional=frozenset({"here", "published", "at"}))
    echo("", f"Each is what is measured here over {text}, less one; n is the runs of the side with fewer.")
    differing = _differing(found, {*ours.plan.varied, *theirs.plan.varied})
    if differing:
        echo(f"Not the same on both sides: {differing}.")
    echo("What a publication does not state, such as the size of the problem, may differ too.")


def _settings_text(settings: Settings, varied: Sequence[str]) -> str:
    return " ".join(f"{name}={settings[name]}" for name in varied if name in settings and name != "workload")


def _differing(found: Sequence[Comparison], shown: set[str]) -> str:
    """Return the settings that differ and that no row shows, such as ``nodes (published 8, here 2)``."""
    pairs = {
        f"{name} (published {value}, here {one.contender[name]})": None
        for one in found
        for name, value in one.reference.items()
        if name in one.contender and name not in shown
    }
    return ", ".join(pairs)
