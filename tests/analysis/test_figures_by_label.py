"""What is written and what is read are two figures, also where precision, drift and scatter are judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import numpy as np
from click.testing import CliRunner

from support.synthetic import write_campaign
from tare.analysis.repeats.stopping import case_precisions
from tare.analysis.trust.quality import quality
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.cli.main import make_group
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.plan import Plan
from tare.core.values import Scalar
from tare.core.workload import Better
from tare.report.sections.quality_warnings import quality_warnings
from tare.report.variants import lay_out
from tare.stats.intervals import Floats
from truth.campaigns import Figure, Truth, campaign

OPERATIONS: tuple[Scalar, ...] = ("write", "read")
IO = Figure(name="rate", unit="MB/s", better=Better.HIGHER, at={"operation": OPERATIONS})


def measured(writes: Floats, reads: Floats) -> Campaign:
    """Return what every case measures block by block, the noise of reads and writes being their own."""
    empty = campaign(Truth(workloads={"storage": (IO,)}, blocks=len(writes)))
    rows = {block + 1: (write, read) for block, (write, read) in enumerate(zip(writes, reads, strict=True))}
    return Campaign(
        folder=empty.folder,
        plan=empty.plan,
        attempts=tuple(_with(one, rows[one.block]) for one in empty.attempts),
        orders=empty.orders,
    )


def _with(one: Attempt, values: tuple[float, float]) -> Attempt:
    assert one.state is State.DONE
    series = Series(
        fom="rate",
        unit="MB/s",
        better=Better.HIGHER,
        at={"operation": list(OPERATIONS)},
        values=[float(value) for value in values],
    )
    return msgspec.structs.replace(one, series=[series])


def alone(plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, cases=plan.cases[:1], reference={})


def writes_drift() -> Campaign:
    """Return a campaign in which writes get slower, and reads do not."""
    noise = np.random.default_rng(1).normal(0, 0.02, (2, 12))
    return measured(100 * np.exp(noise[0] - np.linspace(0, 0.3, 12)), 100 * np.exp(noise[1]))


def test_precision_is_of_each_operation_and_not_of_their_mean() -> None:
    found = writes_drift()
    (one,) = case_precisions(alone(found.plan), found.attempts, until=0.02)
    assert one.half_width is not None
    assert one.half_width > 0.05
    assert not one.is_settled


def test_a_drift_of_writes_is_not_hidden_by_reads_and_the_warning_names_the_operation() -> None:
    found = writes_drift()
    drifts = [one for one in quality(found).warnings if one.kind is RepeatabilityWarning.DRIFT]
    known = {("rate", "write"), ("rate", "read")}
    assert {(one.fom, *one.labels.values()) for one in drifts} == {("rate", "write")}
    assert {(one.fom, *one.labels.values()) for one in quality(found).scatters} == known
    told = quality_warnings(quality(found), found, lay_out(found, ()))
    assert {plain(row.foms) for row in told.rows} == {"rate (operation write)"}


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


def test_compare_names_the_operation_of_a_warning(tmp_path: Path) -> None:
    folder = write_campaign(writes_drift(), tmp_path / "c")

    def compare(*words: str) -> str:
        asked = ["compare", str(folder), *words]
        return CliRunner().invoke(make_group(), asked, catch_exceptions=False).output

    assert "rate (operation=write): drifts by" in plain(compare())
    doubted = json.loads(compare("--json"))["doubts"]
    assert {one["labels"]["operation"] for one in doubted} == {"write"}
