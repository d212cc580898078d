"""Hold predicted slowdowns of programs by more latency and less bandwidth against measured ones.

The studies are studies/why/delays.yaml and rates.yaml. Predictions use the profiles on the reference network
alone. The chart is artefacts/tolerance.svg.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.rows import TARE, Row
from bench.why import INSIDE, compiled
from tare.analysis.causes.attribution import attributions
from tare.analysis.predictions.network_costs import NetworkCosts, side_of
from tare.analysis.predictions.prediction import CONFIDENCE
from tare.analysis.predictions.slowdown_forecast import with_bandwidth, with_latency
from tare.analysis.predictions.tolerance import tolerances
from tare.config.site_file import site_from_text
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.interval import Bounded
from tare.core.prediction import Tolerance
from tare.core.site import LabNetwork
from tare.report.charts.drawing import Style, joint_spec, panel_charts
from tare.report.charts.painting import to_svg
from tare.report.charts.panels import Line, Panel, Point
from tare.report.variants import Variant
from tare.report.words.network_need import change_words
from tare.report.words.numbers import bracket_values, ratio
from tare.storage.campaign import read_campaign

_STUDIES = Path(__file__).parents[1] / "studies/why"
STUDIES = (_STUDIES / "delays.yaml", _STUDIES / "rates.yaml")
CAMPAIGNS = Path("campaigns")
CHART = Path("artefacts/tolerance.svg")

_NAMES = 150
"""The space right of the panels for the names of their lines, in pixels."""


class Tried(NamedTuple):
    """A network that a program was predicted for and measured on: ratios of wall times to the reference.

    `x` is the added latency in µs, as a ping-pong measured it, or the rate in Mbit/s, as `axis` says.
    """

    workload: str
    axis: str
    x: float
    at: str
    predicted: Bounded
    measured: Bounded
    n_blocks: int

    @property
    def is_inside(self) -> bool:
        """Return whether the measured ratio is inside the predicted interval."""
        low, high = self.predicted.low, self.predicted.high
        return low is not None and high is not None and low <= self.measured.value <= high


def measure() -> Iterator[Row]:
    """Run the studies unless their campaigns are complete; draw the chart and yield the table's rows."""
    if not shutil.which("mpicc"):
        yield Row("tolerance", "no mpicc", "-", "-")
        return
    found = [one for study in STUDIES for one in tried(_run(study))]
    yield from table(found)
    if found:
        CHART.parent.mkdir(parents=True, exist_ok=True)
        CHART.write_text(chart(found))
        yield Row(f"chart: {CHART}", "-", "-", "-")


def _run(study: Path) -> Campaign:
    """Run a study; a campaign that is there goes on."""
    folder = CAMPAIGNS / f"tolerance-{study.stem}"
    words = [TARE, "run", str(study), "--out", str(folder), "--no-boost"]
    subprocess.run(words, env=os.environ | {"TARE_WHY_PROGRAMS": str(compiled(CAMPAIGNS))}, check=False)
    return read_campaign(folder)


def tried(campaign: Campaign) -> Iterator[Tried]:
    """Yield each program on each network that has more latency or less bandwidth than the reference."""
    networks = _networks(campaign.folder / "site.yaml")
    costs = NetworkCosts(campaign)
    measured = attributions(campaign, CONFIDENCE)
    for one in tolerances(campaign):
        for pair in measured:
            cases = [campaign.cases[case] for case in (pair.reference_case, pair.contender_case)]
            added_s = _added_s(costs, *cases)
            found = _predicted(campaign, one, networks[cases[1].network or ""], added_s)
            if pair.reference_case == one.case and pair.ratio is not None and found is not None:
                axis, x, at, predicted = found
                yield Tried(one.workload, axis, x, at, predicted, pair.ratio, pair.n_blocks)


def _added_s(costs: NetworkCosts, reference: Case, contender: Case) -> float | None:
    """Return how much longer a small message takes, in the median of passes; None without both curves."""
    before, after = (costs.latency(side_of(case)) for case in (reference, contender))
    return None if before is None or after is None else float(np.nanmedian(after - before))


def _networks(site: Path) -> Mapping[str, LabNetwork]:
    """Return the networks of the lab in a campaign's site file."""
    environment = os.environ | {"TARE_WHY_PROGRAMS": str(CAMPAIGNS.absolute())}
    lab = site_from_text(site.read_text(), str(site), environment).lab
    return lab.networks if lab else {}


def _predicted(
    campaign: Campaign, found: Tolerance, other: LabNetwork, added_s: float | None
) -> tuple[str, float, str, Bounded] | None:
    if other.delay_s is not None:
        if added_s is None:
            return None
        x = float(round(added_s * 1e6))
        return "added latency, µs", x, f"+{x:g} µs", with_latency(campaign, found, added_s)
    if other.rate_bits_per_s is None:
        return None
    predicted = with_bandwidth(campaign, found, other.rate_bits_per_s / 8)
    x = other.rate_bits_per_s / 1e6
    return None if predicted is None else ("rate, Mbit/s", x, f"{x:g} Mbit/s", predicted)


def table(found: Sequence[Tried]) -> Iterator[Row]:
    """Yield a row for each program and network, and two that sum them up."""
    for one in found:
        words = "inside" if one.is_inside else "OUTSIDE"
        yield Row(f"{one.workload}, {one.at}", change_words(one.measured), change_words(one.predicted), words)
    if found:
        share = f"{sum(one.is_inside for one in found)} of {len(found)}"
        yield Row("measured inside the predicted interval (90 %)", share, "-", f"≥ {INSIDE:.0%}")
        middle = statistics.median(abs(one.predicted.value / one.measured.value - 1) for one in found)
        yield Row("median of |predicted / measured − 1|", f"{middle:.1%}", "-", "-")


def chart(found: Sequence[Tried]) -> str:
    """Return one chart as SVG: a panel for each program and axis, with predicted and measured slowdowns."""
    axes = dict.fromkeys(one.axis for one in found)
    programs = dict.fromkeys(one.workload for one in found)
    panels = [
        _panel([one for one in found if (one.workload, one.axis) == (program, axis)])
        for axis in axes
        for program in programs
        if any((one.workload, one.axis) == (program, axis) for one in found)
    ]
    charts = panel_charts(panels, Style("slowdown", is_ratio=True))
    return to_svg(joint_spec(charts, _NAMES, columns=len(programs)))


def _panel(found: Sequence[Tried]) -> Panel:
    ordered = sorted(found, key=lambda one: one.x)
    lines = (
        Line(Variant("predicted", True, 0), tuple(_point(one, one.predicted) for one in ordered)),
        Line(Variant("measured", False, 1), tuple(_point(one, one.measured) for one in ordered)),
    )
    return Panel(found[0].workload, "wall time over that on the reference, 90 %", lines, found[0].axis)


def _point(one: Tried, value: Bounded) -> Point:
    return Point(
        x=one.x,
        y=value.value,
        low=value.low,
        high=value.high,
        at=one.at,
        value=ratio(value.value),
        interval=bracket_values(value.low, value.high),
        n_blocks=one.n_blocks,
    )
