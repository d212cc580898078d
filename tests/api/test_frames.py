"""A column has one type, whatever a campaign holds, so that frames can be stacked and joined."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
import pytest

import tare
from support.profiled import BASE, profiled_campaign, with_more
from support.scales import make_application, usl
from support.synthetic import make_campaign, make_case, write_campaign
from tare.api.campaign import Campaign
from tare.api.causes import Attributions, Predictions, Tolerances
from tare.api.frames import spread
from tare.api.results import Comparisons, Estimates, ScalingCurves
from tare.core.attempt import State

RESULTS = ("compare", "estimates", "scaling", "why", "predict", "tolerance")
KINDS = (Comparisons, Estimates, ScalingCurves, Attributions, Predictions, Tolerances)
TYPES = {pl.String, pl.Int64, pl.Float64, pl.Boolean}


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    made = make_campaign([make_case("host"), make_case("overlay")], ratio=1.3)
    return tare.open_campaign(write_campaign(made, tmp_path / "whole"))


@pytest.fixture
def unmeasured(tmp_path: Path) -> Campaign:
    made = make_campaign([make_case("host"), make_case("overlay")], ratio=1.3)
    return tare.open_campaign(write_campaign(msgspec.structs.replace(made, attempts=()), tmp_path / "none"))


def test_columns_keep_their_types_where_nothing_was_measured(
    campaign: Campaign, unmeasured: Campaign
) -> None:
    pairs = [
        (campaign.measurements(), unmeasured.measurements()),
        (campaign.runs(), unmeasured.runs()),
        (campaign.cases(), unmeasured.cases()),
        (campaign.figures, unmeasured.figures),
        (campaign.compare().to_polars(), unmeasured.compare().to_polars()),
        (campaign.estimates().to_polars(), unmeasured.estimates().to_polars()),
    ]
    for full, empty in pairs:
        stacked = pl.concat([full, empty], how="diagonal")  # raises where types differ
        assert stacked.height == full.height + empty.height


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_rows_has_columns_of_the_types_of_their_fields(kind: type) -> None:
    schema = kind(()).to_polars().schema
    assert {type(one)() for one in schema.values()} <= {one() for one in TYPES}
    expected = {
        **dict.fromkeys(("n_blocks", "family", "more_blocks", "least_bytes", "nodes"), pl.Int64),
        **dict.fromkeys(("is_primary", "is_certain", "is_decided", "is_inside"), pl.Boolean),
        **dict.fromkeys(("ratio", "value", "speedup", "share", "scale", "wall_s", "reference_s"), pl.Float64),
        **dict.fromkeys(("workload", "fom", "verdict", "case", "note", "remarks", "reference"), pl.String),
    }
    assert not {name: schema[name] for name in schema if name in expected and schema[name] != expected[name]}


def test_types_are_the_same_with_rows_as_without(tmp_path: Path) -> None:
    laws = {"host": usl(6, 0.02, 0.0001), "overlay": usl(6, 0.02, 0.02)}
    full = [
        tare.open_campaign(write_campaign(make_application(laws), tmp_path / "scaling")),
        tare.open_campaign(_profiled(tmp_path / "profiled")),
    ]
    for campaign in full:
        for name, kind in zip(RESULTS, KINDS, strict=True):
            frame = getattr(campaign, name)().to_polars()
            for column, of_none in kind(()).to_polars().schema.items():
                assert frame.schema[column] == of_none, (name, column)


def test_measurements_join_with_runs_cases_and_results(campaign: Campaign) -> None:
    rows = campaign.measurements()
    assert rows.join(campaign.cases(), on="case").height == rows.height
    assert rows.join(campaign.runs(), on=["case", "block"]).height == rows.height
    assert rows.join(campaign.figures, on=["workload", "fom", "unit", "better"]).height == rows.height
    levels = campaign.estimates().to_polars().select("case", "fom", "better", bytes="at_bytes", level="value")
    assert rows.join(levels, on=["case", "fom", "better", "bytes"]).height == rows.height


def test_a_run_of_unknown_duration_has_none(tmp_path: Path) -> None:
    made = make_campaign([make_case("host"), make_case("overlay")], ratio=1.3)
    lost = msgspec.structs.replace(made.attempts[0], state=State.LOST, elapsed_s=0.0)
    folder = write_campaign(msgspec.structs.replace(made, attempts=(lost,)), tmp_path / "c")
    runs = tare.open_campaign(folder).runs()
    assert runs["elapsed_s"].null_count() == runs.height


def _profiled(folder: Path) -> Path:
    return profiled_campaign(folder, BASE, with_more(BASE, ("MPI_Alltoall", 4096), 4.0)).folder


def test_a_column_has_one_type_in_all_frames(campaign: Campaign) -> None:
    frames = [campaign.measurements(), campaign.runs(), campaign.cases(), campaign.figures]
    types: dict[str, set[pl.DataType]] = {}
    for frame in frames:
        for name, kind in frame.schema.items():
            types.setdefault(name, set()).add(kind)
    assert {name: kinds for name, kinds in types.items() if len(kinds) > 1} == {}


def test_a_frame_that_is_changed_changes_no_other(campaign: Campaign) -> None:
    campaign.figures.drop_in_place("fom")
    assert "fom" in campaign.figures.columns


def test_settings_whose_columns_would_have_one_name_have_one_each() -> None:
    found = spread("at_", [{"verdict": 1, "setting_verdict": 2}], {"at_verdict", "fom"})
    assert {name: list(values) for name, values in found.items()} == {
        "at_setting_setting_verdict": [1],
        "at_setting_verdict": [2],
    }
