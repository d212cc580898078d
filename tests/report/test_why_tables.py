"""The tables of *Why?* in each format, against the records of `tare why --json`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from support.curves import Wire, curves_campaign, joined
from support.profiled import BASE, profiled_campaign, with_more
from support.synthetic import make_campaign, write_campaign
from tare.cli.commands import predict, report, tolerance, why
from tare.report.escaping import latex, markdown
from tare.report.words.numbers import number, quantity

_NETWORKS = {"host": Wire(10e-6, 1e9), "overlay": Wire(60e-6, 2e8)}
_SLOWER = with_more(BASE, ("MPI_Alltoall", 4096), 0.5)
Json = Mapping[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a campaign whose contender is slower, scatters more, and has curves, with its report."""
    place = tmp_path_factory.mktemp("why") / "campaign"
    noisy = {("computation", 0): 0.03}
    profiled = profiled_campaign(place, BASE, _SLOWER, blocks=12, noise=0.001, scatter=noisy)
    write_campaign(joined(profiled, curves_campaign(_NETWORKS)), place)
    options = [str(place), "--format", "csv", "--format", "latex", "--format", "markdown", "--json"]
    made = CliRunner().invoke(report.command, options, catch_exceptions=False)
    tables = msgspec.json.decode(made.stdout_bytes)["why"]
    assert [Path(one).name for one in tables] == [
        "attribution.csv",
        "predictions.csv",
        "scatter.csv",
        "tolerances.csv",
    ]
    return place


@pytest.fixture(scope="module")
def document(folder: Path) -> Json:
    return _json(why.command, folder)


def _json(command: Any, folder: Path) -> Json:
    done = CliRunner().invoke(command, [str(folder), "--json"], catch_exceptions=False)
    found: Json = msgspec.json.decode(done.stdout_bytes)
    return found


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "report" / "why" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _same(row: Mapping[str, str], names: tuple[str, str, str], bounded: Json | None) -> None:
    """Fail if the cells of a value and of its interval are not those of a record."""
    for name, key in zip(names, ("value", "low", "high"), strict=True):
        want = None if bounded is None else bounded[key]
        assert (float(row[name]) if row[name] else None) == want, name


def test_the_parts_in_csv_are_those_of_the_json(folder: Path, document: Json) -> None:
    (told,) = document["differences"]
    rows, causes = _rows(folder, "attribution.csv"), told["attribution"]["causes"]
    assert len(rows) == len(causes) >= 4
    for row, cause in zip(rows, causes, strict=True):
        assert (row["kind"], row["name"]) == (cause["kind"], cause["name"])
        assert float(row["contender_s"]) == cause["contender_s"]
        _same(row, ("difference_s", "difference_low_s", "difference_high_s"), cause["difference_s"])
        _same(row, ("share", "share_low", "share_high"), cause["share"])
        assert row["is_certain"] == ("yes" if cause["is_certain"] else "no")
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)


def test_the_scatter_in_csv_is_that_of_the_json(folder: Path, document: Json) -> None:
    (told,) = document["differences"]
    causes = told["attribution"]["scatter"]["causes"]
    for row, cause in zip(_rows(folder, "scatter.csv"), causes, strict=True):
        assert float(row["contender_sd_s"]) == cause["contender_sd_s"]
        _same(row, ("share", "share_low", "share_high"), cause["share"])


def test_predictions_and_tolerances_in_csv_are_those_of_the_json(folder: Path, document: Json) -> None:
    for row, record in zip(_rows(folder, "predictions.csv"), document["predictions"], strict=True):
        one = record["prediction"]
        assert row["contender"] == one["contender"] == "overlay"
        _same(row, ("predicted_ratio", "predicted_low", "predicted_high"), one["ratio"])
        _same(row, ("measured_ratio", "measured_low", "measured_high"), one["measured_ratio"])
    (record,) = document["tolerances"]
    limits = record["tolerance"]["limits"]
    for row, limit in zip(_rows(folder, "tolerances.csv"), limits, strict=True):
        assert float(row["share"]) == limit["share"]
        _same(row, ("latency_s", "latency_low_s", "latency_high_s"), limit["latency_s"])
        _same(row, ("bandwidth", "bandwidth_low", "bandwidth_high"), limit["bandwidth"])


@pytest.mark.parametrize(("name", "escape"), [("summary.md", markdown), ("tables.tex", latex)])
def test_markdown_and_latex_have_the_figures_of_the_json(
    folder: Path, document: Json, name: str, escape: Any
) -> None:
    text = (folder / "report" / name).read_text(encoding="utf-8")
    (told,) = document["differences"]
    for cause in told["attribution"]["causes"]:
        sides = [number(cause[side]) for side in ("reference_s", "contender_s")]
        shown = [escape(one) for one in (*sides, quantity(cause["difference_s"]["value"], "s"))]
        between = " | " if name == "summary.md" else " & "
        assert between.join(shown) in text, cause
    for title in ("the networks’ curves, and as profiled runs took", "that costs a share of the time"):
        assert escape(title) in text


def test_why_has_the_records_of_predict_and_tolerance(folder: Path, document: Json) -> None:
    assert document["predictions"]
    assert document["predictions"] == _json(predict.command, folder)["predictions"]
    assert document["tolerances"] == _json(tolerance.command, folder)["tolerances"]


def test_why_prints_the_mean_and_the_scatter_first_and_the_networks_last(
    folder: Path, document: Json
) -> None:
    lines = CliRunner().invoke(why.command, [str(folder)]).output.splitlines()
    (told,) = document["differences"]
    assert lines[:2] == [f"{told['mean_and_scatter_sentence']}.", f"{told['sentence']}."]
    assert lines[-3] == f"Predicted: {document['predictions'][0]['sentence']}."
    assert lines[-1] == f"Tolerance: {document['tolerances'][0]['sentence']}."


def test_profiled_runs_that_nothing_compares_still_say_what_they_need(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path / "c", BASE, BASE)
    (tmp_path / "c" / "plan.json").unlink()
    plan = msgspec.structs.replace(campaign.plan, reference={})
    write_campaign(msgspec.structs.replace(campaign, plan=plan), tmp_path / "c")
    shown = CliRunner().invoke(why.command, [str(tmp_path / "c")]).output
    assert "None of the profiled runs is of a case that is compared" in shown
    assert "Tolerance: by the messages of its busiest rank, at 2 nodes synthetic.program" in shown


def test_a_campaign_without_profiles_has_no_such_tables(tmp_path: Path) -> None:
    place = write_campaign(make_campaign(), tmp_path / "plain")
    made = CliRunner().invoke(report.command, [str(place), "--format", "csv", "--json"])
    assert msgspec.json.decode(made.stdout_bytes)["why"] == []
    assert not (place / "report" / "why").exists()
