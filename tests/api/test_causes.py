"""Causes, predictions and tolerances from Python are those that the commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tare
from support.curves import Wire, curves_campaign
from support.profiled import BASE, profiled_campaign, with_more
from support.synthetic import make_campaign, write_campaign
from tare.cli.main import make_group

_SLOWER = with_more(BASE, ("MPI_Alltoall", 4096), 4.0)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return the folders of a profiled program and of curves."""
    profiled_campaign(tmp_path / "program", BASE, _SLOWER)
    wires = {"host": Wire(10e-6, 1e9), "overlay": Wire(60e-6, 2e8)}
    write_campaign(curves_campaign(wires), tmp_path / "curves")
    return tmp_path / "program", tmp_path / "curves"


def printed(*arguments: str | Path) -> Any:
    done = CliRunner().invoke(make_group(), [*map(str, arguments), "--json"], catch_exceptions=False)
    return json.loads(done.stdout)


def test_parts_of_a_difference_are_those_of_tare_why(folders: tuple[Path, Path]) -> None:
    frame = tare.open_campaign(folders[0]).why().to_polars()
    (difference,) = printed("why", folders[0])["differences"]
    causes = difference["attribution"]["causes"]
    for name in ("kind", "name", "reference_s", "contender_s", "is_certain", "most_bytes"):
        assert frame[name].to_list() == [one[name] for one in causes]
    for name in ("difference_s", "share"):
        for end, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            assert frame[f"{name}{end}"].to_list() == [one[name][part] for one in causes]
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["contender_network"].unique().to_list() == ["overlay"]


def test_predictions_and_tolerances_are_those_of_their_commands(folders: tuple[Path, Path]) -> None:
    program, curves = (tare.open_campaign(one) for one in folders)
    options = ("--curves", folders[1])
    predicted = [one["prediction"] for one in printed("predict", folders[0], *options)["predictions"]]
    frame = program.predict(curves=curves).to_polars()
    assert frame["ratio"].to_list() == [one["ratio"]["value"] for one in predicted]
    assert frame["measured_ratio_low"].to_list() == [one["measured_ratio"]["low"] for one in predicted]
    (tolerance,) = [one["tolerance"] for one in printed("tolerance", folders[0], *options)["tolerances"]]
    frame = program.tolerance(curves=curves).to_polars()
    assert frame["slower_by"].to_list() == [one["share"] for one in tolerance["limits"]]
    assert frame["latency_s"].to_list() == [one["latency_s"]["value"] for one in tolerance["limits"]]


def test_a_campaign_without_profiles_has_empty_tables(tmp_path: Path) -> None:
    campaign = tare.open_campaign(write_campaign(make_campaign(), tmp_path / "plain"))
    for found in (campaign.why(), campaign.predict(), campaign.tolerance()):
        assert not found
        assert found.to_polars().is_empty()
