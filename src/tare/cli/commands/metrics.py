"""`tare metrics`: serve campaigns as metrics for Prometheus."""

from __future__ import annotations

from pathlib import Path

import click

from tare.cli.options import listening_options, require_folders
from tare.terminal.output import echo, json_option, print_json

DEFAULT_PORT = 9437


@click.command()
@listening_options(DEFAULT_PORT)
@click.option(
    "--once", is_flag=True, help="Print the metrics once, as for node_exporter's textfile collector."
)
@json_option
def command(
    folders: tuple[Path, ...],
    port: int,
    host: str,
    token_file: Path | None,
    no_token: bool,
    once: bool,
    as_json: bool,
) -> None:
    """Serve the campaigns in each DIR as metrics in OpenMetrics text, at /metrics, until Ctrl-C.

    DIR is a campaign, or a folder of campaigns. The metrics are the progress of each campaign, the current
    run, and the latest figures and telemetry of each case. `tare serve` serves the same metrics.

    \b
    Examples:
      tare metrics campaigns
      tare metrics campaigns --once > /var/lib/node_exporter/tare.prom
      tare metrics campaigns --host 0.0.0.0 --token-file ~/.tare-token
    """
    require_folders(folders)
    if once:
        echo(*_render(folders).splitlines())
        return
    from tare.live.server import listen, serve

    listener = listen(host, port, token_file, is_for_anybody=no_token)
    base, _, query = listener.url.partition("?")
    url = f"{base}metrics" + (f"?{query}" if query else "")
    if as_json:
        print_json("tare.metrics/1", {"url": url, "folders": [str(folder) for folder in folders]})
    else:
        echo(url, "Ctrl-C ends it.")
    serve(folders, listener)


def _render(folders: tuple[Path, ...]) -> str:
    from tare.live.openmetrics import families, render
    from tare.live.watch import Hub

    hub = Hub(folders)
    hub.poll()
    return render(
        families(
            {
                name: one.campaign_state
                for name, one in hub.campaigns.items()
                if one.campaign_state is not None
            }
        )
    )
