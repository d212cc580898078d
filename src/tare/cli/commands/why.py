"""`tare why`: show where the difference between a contender and its reference comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.terminal.output import echo, json_option, plain, print_json, print_table

if TYPE_CHECKING:
    from tare.core.attribution import Attribution
    from tare.report.variants import Variants


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def command(folder: Path, as_json: bool) -> None:
    """Show why contenders differ from their reference, by what the ranks of profiled runs did.

    Each difference in wall time is parted into computation, each MPI function by message size, waiting for
    late ranks, file I/O, and what the profile does not cover. The parts sum to the difference; intervals are
    95 %, paired by block. Profiled runs are made by 'profile: true' in the study, or 'tare run --profile'.

    \b
    Examples:
      tare run study.yaml --profile
      tare why campaigns/gromacs-networks
      tare why campaigns/gromacs-networks --json
    """
    from tare.analysis.attribution import attributions
    from tare.analysis.correlates import explanations
    from tare.report.variants import lay_out
    from tare.report.words.causes import cause_sentence, silence
    from tare.report.words.scatter_causes import scatter_sentence
    from tare.storage.pseudonymous import read_shown

    campaign = read_shown(folder)
    found = attributions(campaign)
    variants = lay_out(campaign, ())
    reasons = explanations(campaign)
    sentences = [plain(cause_sentence(one, variants, reasons)) for one in found]
    if as_json:
        rows = [
            {"sentence": text, "scatter_sentence": plain(scatter_sentence(one, variants)), "attribution": one}
            for text, one in zip(sentences, found, strict=True)
        ]
        print_json("tare.why/1", {"differences": rows})
        return
    if not found:
        echo(
            "No run of this campaign has a profile, so no cause is known. Run it with 'tare run --profile', "
            "or set 'profile: true' in the study."
        )
        return
    for index, (text, one) in enumerate(zip(sentences, found, strict=True)):
        if index:
            echo()
        label = variants.case_label(one.contender_case)
        echo(f"{text}." if text else plain(f"{label}: {silence(one)}."))
        if scattered := scatter_sentence(one, variants):
            echo(plain(f"{label}: {scattered}."))
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
        echo(plain(f"n = {one.n_blocks} blocks; profiled runs took × {number(one.cost.value)} {interval}."))
    if one.note:
        echo(plain(one.note))
