"""`tare why`: show where the difference between a contender and its reference comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tare.core.counting import count
from tare.terminal.output import echo, json_option, plain, print_json, print_table

if TYPE_CHECKING:
    from tare.core.attribution import Attribution
    from tare.core.campaign import Campaign
    from tare.report.variants import Variants


class _Told(NamedTuple):
    """An attribution with its sentences, each empty where nothing is certain."""

    attribution: Attribution
    sentence: str
    scatter: str
    both: str


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def command(folder: Path, as_json: bool) -> None:
    """Show why contenders differ from their reference, by what the ranks of profiled runs did.

    Each difference in wall time is split into computation, each MPI function by message size, waiting for
    late ranks, file I/O, and what the profile does not cover. The parts sum to the difference; intervals are
    95 %, paired by block. Profiled runs are made by 'profile: true' in the study, or 'tare run --profile'.
    Where the campaign has curves too, what they predict follows; then how much network the programs need.

    \b
    Examples:
      tare run study.yaml --profile
      tare why campaigns/gromacs-networks
      tare why campaigns/gromacs-networks --json
    """
    from tare.analysis.causes.attribution import attributions
    from tare.analysis.causes.profiles import profiles
    from tare.analysis.predictions.prediction import predictions
    from tare.analysis.predictions.profiled_programs import why_no_programs
    from tare.analysis.predictions.tolerance import tolerances
    from tare.cli.network_records import network_lines, prediction_records, tolerance_records
    from tare.report.words.numbers import visible
    from tare.storage.pseudonymous import read_shown

    campaign = read_shown(folder)
    found, predicted, tolerated = attributions(campaign), predictions(campaign), tolerances(campaign)
    if as_json:
        document = {
            "differences": _records(campaign, found),
            "predictions": prediction_records(predicted),
            "tolerances": tolerance_records(tolerated),
        }
        print_json("tare.why/1", document)
        return
    lines = network_lines(predicted, tolerated)
    if found:
        _print_differences(campaign, found)
    elif profiles(campaign).by_case:
        echo("None of the profiled runs is of a case that is compared, so no difference is attributed.")
    else:
        echo(plain(f"No cause is known: {visible(why_no_programs(campaign))}."))
    for line in lines:
        echo()
        echo(line)


def _told(campaign: Campaign, found: Sequence[Attribution]) -> Iterator[_Told]:
    from tare.analysis.causes.correlates import explanations
    from tare.report.variants import lay_out
    from tare.report.words.causes import cause_sentence
    from tare.report.words.mean_and_scatter import mean_and_scatter_sentence
    from tare.report.words.scatter_causes import scatter_sentence

    variants = lay_out(campaign, ())
    reasons = explanations(campaign)
    for one in found:
        yield _Told(
            one,
            plain(cause_sentence(one, variants, reasons)),
            plain(scatter_sentence(one, variants)),
            plain(mean_and_scatter_sentence(one, variants)),
        )


def _records(campaign: Campaign, found: Sequence[Attribution]) -> list[dict[str, object]]:
    return [
        {
            "sentence": told.sentence,
            "scatter_sentence": told.scatter,
            "mean_and_scatter_sentence": told.both,
            "attribution": told.attribution,
        }
        for told in _told(campaign, found)
    ]


def _print_differences(campaign: Campaign, found: Sequence[Attribution]) -> None:
    from tare.report.variants import lay_out
    from tare.report.words.silences import silence

    variants = lay_out(campaign, ())
    for index, told in enumerate(_told(campaign, found)):
        one = told.attribution
        if index:
            echo()
        label = variants.case_label(one.contender_case)
        if told.both:
            echo(f"{told.both}.")
        echo(f"{told.sentence}." if told.sentence else plain(f"{label}: {silence(one)}."))
        if told.scatter:
            echo(f"{plain(label)}: {told.scatter}.")
        _print_parts(one, variants)


def _print_parts(one: Attribution, variants: Variants) -> None:
    from tare.report.words.causes import cause_words, share_words
    from tare.report.words.numbers import bracket_values, number

    if not one.causes:
        return
    rows = [
        (
            plain(cause_words(cause)),
            plain(number(cause.reference_s)),
            plain(number(cause.contender_s)),
            plain(number(cause.difference_s.value)),
            plain(bracket_values(cause.difference_s.low, cause.difference_s.high)),
            plain(share_words(cause.share)),
            "yes" if cause.is_certain else "",
        )
        for cause in one.causes
    ]
    sides = (variants.variant_of[one.reference_case].name, variants.variant_of[one.contender_case].name)
    columns = ("part", f"{sides[0]}, s", f"{sides[1]}, s", "difference, s", "interval", "share", "certain")
    print_table(columns, rows, frozenset(columns[1:4]))
    if one.cost is not None:
        interval = bracket_values(one.cost.low, one.cost.high)
        echo(
            plain(
                f"n = {count(one.n_blocks, 'block')}; profiled runs took × {number(one.cost.value)} "
                f"{interval}."
            )
        )
    if one.note:
        echo(plain(one.note))
