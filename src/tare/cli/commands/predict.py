"""`tare predict`: predict what a program would take on another network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.terminal.output import echo, json_option, plain, print_json, print_table

if TYPE_CHECKING:
    from tare.core.prediction import Prediction


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--curves",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The campaign with the curves of the networks.  [default: the same]",
)
@json_option
def command(folder: Path, curves: Path | None, as_json: bool) -> None:
    """Predict what the programs of the campaign in DIR would take on networks for which there are curves.

    From profiled runs on one network come the calls of each MPI function, size and number of ranks; from
    tare.p2p, tare.collectives, osu.* and imb.* what each call costs on both networks. The program need never
    have run on the other one. What is extrapolated is named, and widens the interval (90 %).

    \b
    Examples:
      tare predict campaigns/gromacs --curves campaigns/network-tools
      tare predict campaigns/all-in-one --json
    """
    from tare.analysis.predictions.prediction import predictions, why_no_predictions
    from tare.analysis.predictions.profiled_programs import profiled_programs
    from tare.cli.network_records import prediction_records
    from tare.report.words.network_need import prediction_sentence
    from tare.report.words.numbers import visible
    from tare.storage.pseudonymous import read_shown

    campaign = read_shown(folder)
    found = predictions(campaign, read_shown(curves) if curves else None)
    if as_json:
        print_json("tare.predict/1", {"predictions": prediction_records(found)})
        return
    if not found:
        echo(plain(f"Nothing can be predicted: {visible(why_no_predictions(campaign))}."))
        if profiled_programs(campaign):
            echo(f"They were sought in {curves or folder}; name another one with --curves.")
        return
    for index, one in enumerate(found):
        if index:
            echo()
        echo(plain(f"{prediction_sentence(one)}."))
        if one.rows:
            _print_rows(one)


def _print_rows(one: Prediction) -> None:
    from tare.core.units import format_bytes
    from tare.report.words.network_need import side_words
    from tare.report.words.numbers import number

    rows = [
        (
            row.function,
            format_bytes(row.size_class),
            str(row.comm_size),
            plain(number(row.calls)),
            plain(number(row.reference_call_s * 1e6)),
            plain(number(row.contender_call_s * 1e6)),
            plain(number(row.difference_s)),
            "; ".join(row.remarks),
        )
        for row in one.rows
    ]
    sides = [plain(name) for name in side_words(one)]
    columns = (
        "function",
        "up to",
        "ranks",
        "calls",
        f"{sides[0]}, us",
        f"{sides[1]}, us",
        "difference, s",
        "remark",
    )
    print_table(columns, rows, frozenset(columns[1:7]), frozenset({"remark"}))
