"""`tare tolerance`: show how much latency and bandwidth a program needs."""

from __future__ import annotations

from pathlib import Path

import click

from tare.terminal.output import echo, json_option, plain, print_json, print_table


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--curves",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The campaign with the latencies of networks to hold against it.  [default: the same]",
)
@json_option
def command(folder: Path, curves: Path | None, as_json: bool) -> None:
    """Show the latency and the bandwidth that cost programs of the campaign in DIR 1, 5 and 10 %.

    From the profile of each program: the messages between nodes that follow one another on its busiest rank,
    and the bytes that its busiest node receives. Computation may hide non-blocking messages, and then the
    program stands more. Chains of messages through several ranks are not seen, and make it stand less.

    \b
    Examples:
      tare tolerance campaigns/openfoam
      tare tolerance campaigns/openfoam --curves campaigns/network-tools
    """
    from tare.analysis.predictions.profiled_programs import why_no_programs
    from tare.analysis.predictions.tolerance import tolerances
    from tare.cli.network_records import tolerance_records
    from tare.report.words.network_need import bandwidth_words, latency_words, tolerance_sentence
    from tare.report.words.numbers import number, percent, scaled, visible
    from tare.storage.pseudonymous import read_shown

    campaign = read_shown(folder)
    found = tolerances(campaign, read_shown(curves) if curves else None)
    if as_json:
        print_json("tare.tolerance/1", {"tolerances": tolerance_records(found)})
        return
    if not found:
        echo(plain(f"Nothing is known of what programs need: {visible(why_no_programs(campaign))}."))
        return
    for one in found:
        echo(plain(f"{tolerance_sentence(one)[:1].upper()}{tolerance_sentence(one)[1:]}."))
    table = [
        (
            one.workload,
            str(one.nodes),
            one.network or one.platform,
            plain(number(one.messages)),
            plain(scaled(one.n_bytes, "B")),
            plain(percent(limit.share, is_signed=False)),
            plain(latency_words(limit)),
            plain(bandwidth_words(limit)),
        )
        for one in found
        for limit in one.limits
    ]
    columns = (
        "workload",
        "nodes",
        "network",
        "messages",
        "bytes a node",
        "slower by",
        "latency",
        "bandwidth",
    )
    echo()
    print_table(columns, table, frozenset({"nodes", "messages", "bytes a node", "slower by"}))
