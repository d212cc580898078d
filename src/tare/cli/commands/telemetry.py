"""`tare telemetry`: show the resources that each run used, and import what a site records of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.app.http_client import Server
from tare.cli.options import WholeList
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.core.user_files import open_given, read_given
from tare.plugins.collectors.sysstat import MADE_WITH, Reading, UnreadableSysstat, read_sysstat
from tare.terminal.output import echo, json_option, plain, print_json, print_table

if TYPE_CHECKING:
    from tare.storage.telemetry import Means


@click.group(cls=WholeList)
def command() -> None:
    """Show what each run used, or import what a site records: sysstat's files, or Prometheus."""


_SHOWN = {
    "run_cpu": "CPU",
    "cpu_others": "CPU of others",
    "run_cpu_pressure": "waits for CPU",
    "run_throttled": "throttled",
    "run_memory_peak": "memory",
    "run_memory_pressure": "waits for memory",
    "run_io_pressure": "waits for I/O",
}
"""The columns of `tare telemetry show`: the name of the figure, and the head of its column."""


@command.command("show")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def show(folder: Path, as_json: bool) -> None:
    """Show the resources that each run of the campaign in DIR used.

    Beside them are those that other processes used meanwhile. Runs without their own control group, as over
    ssh and in Slurm, are left out, and so are columns that no run has. The kernel counts memory and
    throttling only if these controllers are on (docs/telemetry.md).

    \b
    Examples:
      tare telemetry show campaigns/demo
    """
    from tare.report.words.numbers import scaled
    from tare.storage.campaign import read_campaign

    measured = list(read_campaign(folder).measured())
    runs = [one for one in measured if "run_cpu" in one.telemetry]
    if as_json:
        figures = [{name: one.telemetry[name] for name in _SHOWN if name in one.telemetry} for one in runs]
        attempts = [one.folder for one in runs]
        body = {"runs": [{"attempt": a, **found} for a, found in zip(attempts, figures, strict=True)]}
        print_json("tare.telemetry.show/1", body)
        return
    if not runs:
        echo("No run has figures of its own: see docs/telemetry.md on where runs have control groups.")
        return
    units = telemetry_figures()
    known = [name for name in _SHOWN if any(name in one.telemetry for one in runs)]
    rows = [
        [
            one.folder.removeprefix("attempts/"),
            *(plain(scaled(one.telemetry[n], units[n].unit)) if n in one.telemetry else "" for n in known),
        ]
        for one in runs
    ]
    columns = [_SHOWN[name] for name in known]
    print_table(["run", *columns], rows, frozenset(columns))
    if n_left_out := len(measured) - len(runs):
        which = f"{n_left_out} of {count(len(measured), 'run')}"
        echo(f"Left out: {which}, without a control group of their own or without samples of all their time.")


@command.command("import")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("source", metavar="SOURCE")
@click.option("--host", help="The host of a file, if the file names it differently than the campaign.")
@click.option("--interface", help="Count only this network interface.  [default: all but lo]")
@click.option(
    "--utc-offset", type=float, default=0.0, help="Hours by which the times of a file are ahead of UTC."
)
@click.option(
    "--query", "queries", multiple=True, metavar="FIGURE=PROMQL", help="A figure, and the query for it."
)
@click.option(
    "--step", type=click.FloatRange(min=0.1), default=1.0, help="Seconds between the points of a query."
)
@click.option(
    "--host-label", default="instance", show_default=True, help="The Prometheus label that names a host."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with the bearer token for Prometheus.",
)
@json_option
def import_(
    folder: Path,
    source: str,
    host: str | None,
    interface: str | None,
    utc_offset: float,
    queries: tuple[str, ...],
    step: float,
    host_label: str,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Import telemetry from SOURCE for the times of the runs of the campaign in DIR.

    SOURCE is a file that `sadf -j` or `sar` wrote, or the address of a Prometheus server. Data between runs
    are left out. Importing again changes nothing. A host name with a domain also matches the name without.
    Means over a run and its hosts become figures, such as telemetry.imported.cpu_system.

    \b
    Examples:
      sadf -j /var/log/sysstat/sa21 -- -u -n DEV -r -q -b -w > n1.json
      tare telemetry import campaigns/demo n1.json --host n1
      tare telemetry import campaigns/demo http://prometheus:9090 \\
        --query 'cpu_iowait=100 * avg by (instance) (rate(node_cpu_seconds_total{mode="iowait"}[5s]))'
      tare compare campaigns/demo --fom telemetry.imported.cpu_iowait
    """
    from tare.storage.campaign import read_campaign

    campaign = read_campaign(folder)
    if source.startswith(("http://", "https://")):
        server = Server(source, token_file)
        source = server.base
        readings = _ask_prometheus(campaign, server, queries, step, host_label)
    else:
        readings = _read_file(Path(source), interface, utc_offset * 3600)
    names = {one: host or _known(one, campaign) for one in {reading.host for reading in readings}}
    readings = [one._replace(host=names[one.host]) for one in readings]
    means, n_points = _keep(campaign, readings)
    n_runs = len(means)
    if as_json:
        body = {"source": source, "n_readings": len(readings), "n_runs": n_runs, "n_points": n_points}
        print_json("tare.telemetry.import/1", body)
        return
    echo(
        f"{count(len(readings), 'reading')}; {n_points} of them {'lies' if n_points == 1 else 'lie'} in "
        f"{n_runs} of {count(len(campaign.attempts), 'run')}"
    )
    if unknown := _unknown_hosts(campaign, readings):
        echo(f"No run had a host of the name {', '.join(unknown)}; --host NAME says which one it is.")
    if not readings:
        echo(f"Prometheus knows nothing of these queries, or no {host_label}, at the time of the runs.")
    elif not n_runs:
        echo("No run has any: are clocks and --utc-offset right, and is the interval shorter than runs?")


_HEAD_BYTES = 4096
_MOST_BYTES = 1024 * 1024 * 1024  # a day of sar(1) as text has a few hundred MB on a large node


def _read_file(path: Path, interface: str | None, utc_offset_s: float) -> list[Reading]:
    try:
        with open_given(path) as file:
            if b"\0" in file.read(_HEAD_BYTES):  # as in what sadc(8) writes, or a sparse file
                raise UnreadableSysstat(f"it is no text; {MADE_WITH}")
        return read_sysstat(read_given(path, _MOST_BYTES).decode(errors="replace"), interface, utc_offset_s)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnreadableSysstat as error:
        raise UsageError(f"{path}: {error}") from error


def _known(host: str, campaign: Campaign) -> str:
    """Return the campaign's name for a host, which may be with or without its domain."""
    known = {name for one in campaign.attempts for name in one.hosts}
    short = host.partition(".")[0]
    alike = [name for name in known if name.partition(".")[0] == short]
    return alike[0] if host not in known and len(alike) == 1 and not short.isdigit() else host


def _ask_prometheus(
    campaign: Campaign, server: Server, queries: Sequence[str], step_s: float, host_label: str
) -> list[Reading]:
    """Return the answers of Prometheus to all queries, for the time from the first run to the last."""
    from tare.plugins.collectors.prometheus import RefusedQuery, range_urls, read_range
    from tare.storage.telemetry import epoch_of

    epochs = [epoch for one in campaign.attempts if (epoch := epoch_of(one))]
    if not queries:
        raise UsageError("a Prometheus needs at least one --query FIGURE=PROMQL")
    found = []
    for text in queries:
        figure, equals, query = text.partition("=")
        if not equals or not figure.isidentifier():
            raise UsageError(f"--query {text}: write FIGURE=PROMQL, such as load=node_load1")
        for epoch in epochs:
            for url in range_urls(server.base, query, epoch.began_at, epoch.ended_at, step_s):
                try:
                    found += read_range(server.get(url), figure, host_label, step_s)
                except RefusedQuery as error:
                    raise UsageError(f"--query {text}: {error}") from error
    return found


def _unknown_hosts(campaign: Campaign, readings: Sequence[Reading]) -> list[str]:
    """Return the hosts of `readings` that no run used; empty if the campaign's hosts are unknown."""
    known = campaign.hosts
    return sorted({one.host for one in readings} - known) if known else []


def _keep(campaign: Campaign, readings: Sequence[Reading]) -> tuple[Means, int]:
    """Store the readings that lie within runs; return their means by run, and the total number of points."""
    from tare.storage.telemetry import cut, epoch_of, keep, keep_means

    means: Means = {}
    n_points = 0
    for attempt in campaign.attempts:
        epoch = epoch_of(attempt)
        tracks = cut(readings, epoch) if epoch else ()
        if epoch and tracks:
            means[attempt.folder] = keep(campaign, attempt, tracks, epoch)
            n_points += sum(len(one.at) for one in tracks)
    if means:
        keep_means(campaign.folder, means)
    return means, n_points
