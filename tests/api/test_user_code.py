"""Code that names only what `tare` promises passes a strict type check, and catches what is raised."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tare
from tare.core import errors

CODE = '''
"""What a user writes."""

from pathlib import Path

import polars as pl

import tare

study = {"study": "x", "factors": {"n": [1, 2]}, "repeats": 3}


def worst(found: tare.Comparisons) -> tare.Comparison | None:
    return max(found, key=lambda one: one.ratio or 0.0, default=None)


def place(fault: tare.Fault) -> str:
    return f"{fault.file}:{fault.line}: {fault.path}: {fault.message}"


def show(event: tare.RunEvent) -> None:
    if event.kind is tare.EventKind.ENDED and event.eta_s is not None:
        print(event.eta_s + 1, event.n_done, event.what)


try:
    plan = tare.plan_study(study, site={"site": "a"}, blocks=3, campaign=Path("c"))
    cases: pl.DataFrame = plan.cases()
    campaign: tare.Campaign = tare.run_study(plan, "c", on_event=show, redact=["acme"])
except tare.FileFaults as error:
    print([place(one) for one in error.faults])
except (tare.CampaignLocked, tare.DiskFull, tare.NoCampaign) as error:
    print(error)
except tare.InfrastructureError as error:
    print(error)
else:
    size = {"block": "64KiB"}
    print(worst(campaign.compare(reference=size, margin=0.03, foms=["a"], correction="holm")))
    levels: list[tare.Estimate] = list(campaign.estimates())
    curves: list[tare.ScalingCurve] = list(campaign.scaling(p_ref=2))
    parts: list[tare.Attribution] = list(campaign.why())
    ratios = [one.ratio for one in campaign.predict(curves=tare.open_campaign("d", mean="median"))]
    for chart in campaign.charts(extra=["a:b"]).values():
        chart.save("x.html", inline=True)
'''


@pytest.mark.slow
def test_it_passes_a_strict_type_check(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(CODE)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["InfrastructureError", "NoCampaign", "CampaignLocked", "DiskFull", "Fault"])
def test_what_is_raised_can_be_caught_by_a_public_name(name: str) -> None:
    assert getattr(tare, name) is getattr(errors, name)


def test_a_folder_without_a_campaign_and_one_that_runs_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(tare.NoCampaign):
        tare.open_campaign(tmp_path)
    assert issubclass(tare.CampaignLocked, tare.CampaignError)
    assert issubclass(tare.CampaignError, tare.InfrastructureError)
    assert not issubclass(tare.UsageError, tare.InfrastructureError)
