"""`tare metrics`: campaigns as metrics for Prometheus."""

from __future__ import annotations

from pathlib import Path

import click

from tare.cli.output import json_option, print_json
from tare.errors import UsageError

DEFAULT_PORT = 9437


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 takes any that is free.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Any but this machine's own needs a token.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Ask for the token in FILE, which Prometheus takes as credentials_file; made when it is not there.",
)
@click.option("--once", is_flag=True, help="Print the metrics and end, as for node_exporter's text files.")
@json_option
def command(
    folders: tuple[Path, ...], port: int, host: str, token_file: Path | None, once: bool, as_json: bool
) -> None:
    """Serve the campaigns in each DIR as metrics in OpenMetrics text, at /metrics, until Ctrl-C.

    DIR is a campaign, or a folder of campaigns. Prometheus sees how far each is, which run is under way, and
    the latest figures and telemetry of each case. `tare serve` has the same page of metrics.

    \b
    Examples:
      tare metrics campaigns
      tare metrics campaigns --once > /var/lib/node_exporter/tare.prom
      tare metrics campaigns --host 0.0.0.0 --token-file ~/.tare-token
    """
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder; name a campaign or a folder of campaigns")
    if once:
        click.echo(_render(folders), nl=False)
        return
    from tare.serve.server import listen, serve

    listener = listen(host, port, token_file)
    base, _, query = listener.url.partition("?")
    url = f"{base}metrics" + (f"?{query}" if query else "")
    if as_json:
        print_json("tare.metrics/1", {"url": url, "folders": [str(folder) for folder in folders]})
    else:
        click.echo(f"{url}\nCtrl-C ends it.")
    serve(folders, listener)


def _render(folders: tuple[Path, ...]) -> str:
    from tare.serve.openmetrics import families, render
    from tare.serve.watch import Hub

    hub = Hub(folders)
    hub.poll()
    return render(families({name: one.book for name, one in hub.campaigns.items() if one.book is not None}))
