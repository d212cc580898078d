"""Hold what networks' curves predict for programs against what the programs took: one table.

The study is studies/why/programs.yaml: programs and microbenchmarks on the networks of the lab. Predictions
use the calls of each program on the reference network alone.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.rows import TARE, Row
from tare.analysis.predictions.prediction import predictions
from tare.core.prediction import Prediction
from tare.report.words.network_need import change_words
from tare.storage.campaign import read_campaign

INSIDE, MEDIAN = 0.8, 0.10
"""The goals: the share of measured changes inside the predicted intervals, and the median error."""

_STUDY = Path(__file__).parents[1] / "studies/why/programs.yaml"
_CAMPAIGN = Path("campaigns/why")


def measure() -> Iterator[Row]:
    """Run the study unless its campaign is complete; yield a row for each program and network."""
    if not shutil.which("mpicc"):
        yield Row("why", "no mpicc", "-", "-")
        return
    _run()
    yield from table(predictions(read_campaign(_CAMPAIGN)))


def compiled(campaigns: Path) -> Path:
    """Compile the studies' own program; return its folder, which is in that of the campaigns."""
    programs = (campaigns / "why-programs").absolute()
    programs.mkdir(parents=True, exist_ok=True)
    source = _STUDY.with_name("cg.c")
    subprocess.run(["mpicc", "-O2", "-o", programs / "cg", source, "-lm"], check=True)
    return programs


def _run() -> None:
    """Run the study; a campaign that is there goes on."""
    words = [TARE, "run", str(_STUDY), "--out", str(_CAMPAIGN), "--no-boost"]
    programs = compiled(_CAMPAIGN.parent)
    subprocess.run(words, env=os.environ | {"TARE_WHY_PROGRAMS": str(programs)}, check=False)


def table(found: Sequence[Prediction]) -> Iterator[Row]:
    """Yield a row for each prediction that was measured too, and two that sum them up."""
    inside, errors, meets = [], [], []
    for one in found:
        name = f"{one.workload}, {one.contender}"
        if one.ratio is None or one.measured_ratio is None:
            yield Row(name, one.refusal or "not measured", "-", "-")
            continue
        low, high = one.ratio.low, one.ratio.high
        is_inside = low is not None and high is not None and low <= one.measured_ratio.value <= high
        inside.append(is_inside)
        meets.append(bool(one.is_inside))
        errors.append(abs(one.ratio.value - one.measured_ratio.value))
        predicted, measured = change_words(one.ratio), change_words(one.measured_ratio)
        yield Row(name, measured, predicted, "inside" if is_inside else "OUTSIDE")
    if inside:
        share = f"{sum(inside)} of {len(inside)}"
        yield Row("measured inside the predicted interval (90 %)", share, "-", f"≥ {INSIDE:.0%}")
        yield Row("intervals of both meet (90 % each)", f"{sum(meets)} of {len(meets)}", "-", "-")
        middle = f"{100 * statistics.median(errors):.1f} points"
        yield Row("median error", middle, "-", f"≤ {100 * MEDIAN:.0f} points")
