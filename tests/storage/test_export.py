"""Tidy rows and what is written of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import polars as pl
import pytest

from support.synthetic import SIZES, make_attempt, make_campaign, make_case
from tare.core.attempt import Series, State
from tare.core.campaign import Campaign
from tare.core.values import Settings
from tare.storage.export import Format, export
from tare.storage.frame import tidy


def exported(campaign: Campaign, form: Format) -> bytes:
    out = io.BytesIO()
    export(campaign, form, out)
    return out.getvalue()


def test_there_is_one_row_a_measurement_with_everything_known_of_it() -> None:
    campaign = make_campaign(folder=Path("campaigns/network-tax"))
    frame = tidy(campaign)
    assert frame.columns == [
        *("schema_version", "campaign", "case", "block", "attempt", "session", "state", "started_at"),
        *("workload", "platform", "network", "nodes", "ranks", "ranks_per_node", "threads", "bind"),
        "bytes",
        *("fom", "unit", "better", "value"),
    ]
    assert len(frame) == 2 * 5 * 2 * len(SIZES)
    first = campaign.attempts[0]
    row = frame.row(1, named=True)
    assert row["started_at"].timestamp() == first.started_at
    del row["started_at"]
    assert row == {
        "schema_version": 1,
        "campaign": "network-tax",
        "case": first.case,
        "block": 1,
        "attempt": 1,
        "session": 0,
        "state": "done",
        "workload": "synthetic.pingpong",
        "platform": "bare",
        "network": campaign.cases[first.case].network,
        "nodes": 2,
        "ranks": 2,
        "ranks_per_node": 1,
        "threads": 1,
        "bind": "none",
        "bytes": SIZES[1],
        "fom": "latency",
        "unit": "us",
        "better": "lower",
        "value": first.series[0].values[1],
    }


def test_rows_of_runs_that_do_not_count_are_there_and_say_so() -> None:
    campaign = make_campaign(blocks=1)
    invalid = make_attempt(campaign.plan.cases[0], 0, [1.0], [8], state=State.INVALID)
    frame = tidy(msgspec.structs.replace(campaign, attempts=(*campaign.attempts, invalid)))
    rows = frame.filter(state="invalid").select("block", "fom", "value").rows()
    assert rows == [(0, "latency", 1.0), (0, "bandwidth", 8.0)]


def test_names_that_are_taken_get_a_prefix() -> None:
    cases = [make_case(network, parameters={"block": 512, "bytes": 1}) for network in ("host", "overlay")]
    frame = tidy(make_campaign(cases, blocks=2))
    assert frame["setting_block"].unique().to_list() == [512]
    assert frame["block"].unique().sort().to_list() == [1, 2]
    assert frame["bytes"].unique().to_list() == [1]
    assert frame["at_bytes"].unique().sort().to_list() == sorted(SIZES)


def test_a_name_with_the_prefix_of_its_own_has_a_column_of_its_own() -> None:
    parameters = {"block": 512, "setting_block": 64, "bytes": 1, "at_bytes": 2}
    frame = tidy(make_campaign([make_case("host", parameters=parameters)], blocks=2))
    assert frame["setting_block"].unique().to_list() == [64]
    assert frame["setting_setting_block"].unique().to_list() == [512]
    assert frame["at_bytes"].unique().to_list() == [2]
    assert frame["at_at_bytes"].unique().sort().to_list() == sorted(SIZES)


def test_a_setting_that_differs_in_type_between_workloads_is_text() -> None:
    levels: list[Settings] = [
        {"size": 8, "cut": 1, "fast": True},
        {"size": "8M", "cut": 1.5},
        {"fast": False, "size": True},
    ]
    cases = [
        make_case(workload=f"w{number}", parameters=parameters) for number, parameters in enumerate(levels)
    ]
    frame = tidy(make_campaign(cases, blocks=1, sizes=(1,))).filter(fom="latency").sort("workload")
    assert frame["size"].to_list() == ["8", "8M", "true"]
    assert frame["cut"].to_list() == [1.0, 1.5, None]
    assert frame["fast"].to_list() == [True, None, False]


def test_numbers_that_64_bits_do_not_hold_are_kept_as_text() -> None:
    levels: list[Settings] = [{"seed": 10**20, "cut": 10**400}, {"seed": 7, "cut": 1.5}]
    cases = [make_case(f"n{number}", parameters=parameters) for number, parameters in enumerate(levels)]
    frame = tidy(make_campaign(cases, blocks=1, sizes=(1,))).filter(fom="latency").sort("network")
    assert frame["seed"].to_list() == ["100000000000000000000", "7"]
    assert frame["cut"].to_list() == [f"1{'0' * 400}", "1.5"]


def test_a_coordinate_is_absent_where_a_fom_lacks_it() -> None:
    campaign = make_campaign(blocks=1, sizes=(1, 2))
    [one, *_] = campaign.attempts
    series = [
        Series(fom="setup", unit="s", values=[3.0]),
        *one.series,
        Series(fom="share", unit="", at={"thread": [0, 1]}, values=[0.4, 0.6]),
    ]
    frame = tidy(msgspec.structs.replace(campaign, attempts=(msgspec.structs.replace(one, series=series),)))
    assert frame["bytes"].to_list() == [None, 1, 2, 1, 2, None, None]
    assert frame["thread"].to_list() == [None] * 5 + [0, 1]
    assert frame["better"].to_list() == [None, *["lower"] * 2, *["higher"] * 2, None, None]


def test_a_campaign_without_measurements_has_the_columns_and_no_rows() -> None:
    campaign = msgspec.structs.replace(make_campaign(), attempts=())
    assert exported(campaign, Format.CSV).decode().startswith("schema_version,campaign,case,block,")
    assert json.loads(exported(campaign, Format.JSON)) == {"schema": "tare.export/1", "rows": []}
    assert len(pl.read_parquet(exported(campaign, Format.PARQUET))) == 0


def test_csv_keeps_every_digit_and_writes_times_as_rfc_3339() -> None:
    campaign = make_campaign(blocks=2)
    text = exported(campaign, Format.CSV).decode()
    assert "2001-09-09T01:46:40.000Z" in text
    values = pl.read_csv(text.encode())["value"].to_list()
    assert values == [v for one in campaign.attempts for series in one.series for v in series.values]


def test_json_is_one_document_with_the_rows_of_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tare.storage.export._ROWS_AT_ONCE", 7)  # so that pieces must join
    campaign = make_campaign(blocks=2)
    document = json.loads(exported(campaign, Format.JSON))
    assert document["schema"] == "tare.export/1"
    frame = tidy(campaign)
    assert [row["value"] for row in document["rows"]] == frame["value"].to_list()
    assert list(document["rows"][0]) == frame.columns


def test_parquet_reads_back_as_the_frame() -> None:
    campaign = make_campaign()
    back = pl.read_parquet(exported(campaign, Format.PARQUET))
    assert back.drop("started_at").rows() == tidy(campaign).drop("started_at").rows()
    assert back["started_at"].dt.epoch("s").to_list() == tidy(campaign)["started_at"].dt.epoch("s").to_list()


FORMULAS = (
    '=HYPERLINK("http://evil.example","x")',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "＝1+1",
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_of_csv_is_a_formula(formula: str) -> None:
    import csv

    cases = [make_case(network, parameters={formula: formula}) for network in ("host", formula)]
    rows = list(csv.reader(exported(make_campaign(cases, blocks=2), Format.CSV).decode().splitlines()))
    texts = {cell for row in rows for cell in row}
    assert not {one for one in texts if one[:1] in "=+@\t\r＝" and one[:1]}
    assert f"'{formula}".replace("\r", "␍") in texts
    assert {len(row) for row in rows} == {len(rows[0])}


def test_numbers_stay_numbers_in_csv_also_among_text() -> None:
    cases = [
        make_case(network, parameters={"shift": shift})
        for network, shift in (("host", -5), ("overlay", "-1.5e-3"), ("macvlan", "a"))
    ]
    text = exported(make_campaign(cases, blocks=1), Format.CSV).decode()
    assert ",-5," in text
    assert ",-1.5e-3," in text
    assert "'-" not in text


def test_csv_holds_no_character_that_steers_a_terminal_and_json_the_very_value() -> None:
    poison = "a\x1b]52;c;x\x07\x9b2J\u202e\x7f\U000e0041"
    campaign = make_campaign([make_case(network) for network in ("host", poison)], blocks=1)
    text = exported(campaign, Format.CSV).decode()
    assert not {one for one in text if not one.isprintable()} - {"\n"}
    written = exported(campaign, Format.JSON).decode()
    assert not {one for one in written if not one.isprintable()} - {"\n"}
    assert {row["network"] for row in json.loads(written)["rows"]} == {"host", poison}
