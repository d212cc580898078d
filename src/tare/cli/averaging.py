"""The option `--mean`: which mean of the runs, or their median, ratios are formed of."""

from __future__ import annotations

import click

from tare.core.comparison import Mean

mean_option = click.option(
    "--mean",
    type=click.Choice([one.value for one in Mean]),
    default=Mean.GEOMETRIC.value,
    help="Of what ratios are formed: geometric of blocks (default), arithmetic of times and other costs, "
    "harmonic of rates, median of blocks.",
)
