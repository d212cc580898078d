"""A campaign opened from Python tells the numbers that the commands print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tare
from support.scales import make_application, usl
from support.synthetic import make_campaign, make_case, write_campaign
from tare.cli.main import make_group

SHARED = ("fom", "unit", "n_blocks", "ratio", "low", "high", "change", "p_adjusted", "detectable", "family")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(make_campaign([make_case("host"), make_case("overlay")], ratio=1.3), tmp_path / "c")


def printed(*arguments: str | Path) -> dict[str, list[dict[str, object]]]:
    done = CliRunner().invoke(make_group(), [*map(str, arguments), "--json"], catch_exceptions=False)
    body: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return body


def test_comparisons_are_those_of_tare_compare(folder: Path) -> None:
    body, campaign = printed("compare", folder), tare.open_campaign(folder)
    for key, found in (("figures", campaign.compare()), ("comparisons", campaign.compare(points=True))):
        assert found
        assert len(found) == len(body[key])
        for row, one in zip(body[key], found, strict=True):
            assert {name: getattr(one, name) for name in SHARED} == {name: row[name] for name in SHARED}
            assert one.verdict.value == row["verdict"]
            assert dict(one.contender) == row["contender"]


def test_a_frame_of_comparisons_has_the_same_numbers(folder: Path) -> None:
    found = tare.open_campaign(folder).compare()
    frame = found.to_polars()
    assert frame["ratio"].to_list() == [one.ratio for one in found]
    assert frame["contender_network"].unique().to_list() == ["overlay"]
    assert frame["verdict"].to_list() == [one.verdict.value for one in found]
    assert {"at_workload", "reference_network", "reference_low", "p_equivalence"} <= {*frame.columns}


def test_scaling_is_that_of_tare_scaling(tmp_path: Path) -> None:
    laws = {"host": usl(6, 0.02, 0.0001), "overlay": usl(6, 0.02, 0.02)}
    folder = write_campaign(make_application(laws, missing=[("overlay", 4)]), tmp_path / "scaling")
    frame = tare.open_campaign(folder).scaling().to_polars()
    curves: Any = printed("scaling", folder)["curves"]
    points = [(curve, point) for curve in curves for point in curve["points"]]
    assert frame["scale"].to_list() == [point["scale"] for _, point in points]
    for name in ("value", "speedup", "efficiency", "gain"):
        expected = [point[name] and point[name]["value"] for _, point in points]
        assert frame[name].to_list() == expected
        assert frame[f"{name}_low"].to_list() == [point[name] and point[name]["low"] for _, point in points]
    assert frame["setting_network"].to_list() == [curve["settings"]["network"] for curve, _ in points]


def test_measurements_that_count_have_no_warm_up_and_no_telemetry(folder: Path) -> None:
    campaign = tare.open_campaign(folder)
    counted, every = campaign.measurements(), campaign.measurements(every=True)
    assert counted["block"].min() == 1
    assert set(counted["state"].cast(str)) == {"done"}
    assert not any(fom.startswith("telemetry.") for fom in counted["fom"].cast(str))
    assert counted.height <= every.height
    assert counted.columns == every.columns


def test_all_measurements_are_those_of_tare_export(folder: Path) -> None:
    done = CliRunner().invoke(
        make_group(), ["export", str(folder), "--format", "json"], catch_exceptions=False
    )
    values = [row["value"] for row in json.loads(done.stdout)["rows"]]
    assert tare.open_campaign(folder).measurements(every=True)["value"].to_list() == values


def test_runs_and_cases_are_tables(folder: Path) -> None:
    campaign = tare.open_campaign(folder)
    runs = campaign.runs()
    assert campaign.progress == (runs.filter(runs["state"] == "done").height, runs.height)
    assert campaign.cases()["network"].to_list() == ["host", "overlay"]
    assert set(runs["case"]) == set(campaign.cases()["case"])
    assert {"workload", "fom", "unit", "better", "n_values"} == set(campaign.figures.columns)


def test_frames_become_pandas_and_arrow(folder: Path) -> None:
    pytest.importorskip("pyarrow", reason="no pyarrow: pip install 'tare-hpc[dataframes]'")
    frame = tare.open_campaign(folder).measurements()
    assert frame.to_pandas()["value"].tolist() == frame["value"].to_list()
    assert frame.to_arrow().num_rows == frame.height


def test_charts_are_those_of_the_report_and_valid(folder: Path) -> None:
    charts = tare.open_campaign(folder).charts()
    assert charts
    for chart in charts.values():
        body = chart.to_dict()  # validates against the schema of Vega-Lite
        assert body["datasets"]
        assert body["title"]


def test_a_notebook_shows_records_as_a_table(folder: Path) -> None:
    campaign = tare.open_campaign(folder)
    for records in (campaign.compare(), campaign.estimates(), campaign.scaling(), campaign.why()):
        assert records._repr_html_() == records.to_polars()._repr_html_()


@pytest.mark.parametrize(
    ("ask", "cure"),
    [
        ({"foms": ["latencies"]}, "choose from"),
        ({"foms": "latency"}, r"foms=\['latency'\]"),
        ({"margin": 3}, "such as 0.03"),
        ({"correction": "bonferroni"}, "choose from holm"),
        ({"reference": {"network": "nowhere"}}, "nowhere"),
    ],
)
def test_a_wrong_question_is_refused_with_the_cure(folder: Path, ask: dict[str, object], cure: str) -> None:
    with pytest.raises(tare.UsageError, match=cure):
        tare.open_campaign(folder).compare(**ask)  # type: ignore[arg-type]


def test_a_folder_without_a_campaign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tare.CampaignError, match="not a campaign folder"):
        tare.open_campaign(tmp_path)
    with pytest.raises(tare.UsageError, match="choose from geometric"):
        tare.open_campaign(tmp_path, mean="mode")  # type: ignore[arg-type]


def test_importing_tare_imports_nothing_heavy() -> None:
    code = "import sys, tare; print(sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = ("polars", "numpy", "msgspec", "click", "yaml", "altair", "importlib.metadata")
    assert not [name for name in heavy if f"'{name}'" in done.stdout]
