"""Absolute values side by side: the same numbers on the page, in Markdown, in LaTeX and as CSV."""

from __future__ import annotations

import base64
import csv
import io
from pathlib import Path

import msgspec

from report.html_reader import Page
from report.situations import single_numbers
from report.studies import HOSTILE, answers_of, content_of, hostile, page_of, three_networks
from support.scales import NS_PER_DAY, make_application, usl
from support.synthetic import make_campaign, make_case
from tare.core.attempt import Series
from tare.core.campaign import Campaign
from tare.core.workload import Better
from tare.plugins.workloads.hpcc import WORKLOADS
from tare.published import as_campaign, read_publication
from tare.report.charts.painting import Painter
from tare.report.charts.requested import Selection
from tare.report.content import content
from tare.report.formats.latex import render_latex
from tare.report.formats.markdown import render_markdown
from tare.report.formats.page import render
from tare.report.formats.tables import figure_csv, values_csv
from tare.report.report_statistics import ReportStatistics
from tare.report.writing import Format, write_report

FABRICS = ("host", "overlay", "macvlan")


def hpcc(folder: Path = Path("synthetic")) -> Campaign:
    """Return a campaign with every figure of HPCC; macvlan has the best of each."""
    (workload,) = WORKLOADS
    cases = [make_case(name, workload="hpcc", nodes=8) for name in FABRICS]
    campaign = make_campaign(cases, blocks=4, folder=folder)
    factor = {"host": 1.0, "overlay": 0.8, "macvlan": 1.1}

    def value(network: str, index: int, better: Better, block: int) -> float:
        share = factor[network] if better is Better.HIGHER else 1 / factor[network]
        return (index + 1) * share * (1 + block / 1000)

    attempts = tuple(
        msgspec.structs.replace(
            one,
            series=[
                Series(
                    fom=fom.name,
                    unit=fom.unit,
                    better=fom.better,
                    values=[value(campaign.cases[one.case].network or "", index, fom.better, one.block)],
                )
                for index, fom in enumerate(workload.foms)
            ],
        )
        for one in campaign.attempts
    )
    plan = msgspec.structs.replace(campaign.plan, foms={"hpcc": workload.foms})
    return msgspec.structs.replace(campaign, plan=plan, attempts=attempts)


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_figure_of_a_suite_has_a_row_and_each_variant_a_column() -> None:
    (table,) = content_of(hpcc()).values
    (workload,) = WORKLOADS
    assert [row.fom for row in table.rows] == [fom.name for fom in workload.foms]
    assert [variant.name for variant in table.variants] == list(FABRICS)
    assert all({variant.name for variant in row.best} == {"macvlan"} for row in table.rows)


def test_controls_that_need_no_network_are_kept_and_named() -> None:
    (table,) = content_of(hpcc()).values
    notes = {row.fom: row.note for row in table.rows}
    assert notes["StarFFT_Gflops"] == "all ranks at once, no network"
    assert notes["SingleFFT_Gflops"] == "one rank, no network"
    assert not notes["MPIFFT_Gflops"]


def test_the_best_of_a_row_is_marked_in_every_format() -> None:
    found = content_of(hpcc())
    page = Page(page_of(hpcc()))
    n_rows = len(found.values[0].rows)
    assert sum(one.text.startswith("★") for one in page.all("b")) == n_rows
    assert render_markdown(found, "..").count("**★ ") == n_rows
    assert render_latex(found).count(r"\textbf{") == n_rows


def test_the_same_numbers_are_in_every_format() -> None:
    found = content_of(hpcc())
    rows = [row for row in read(values_csv(found.values)) if row["fom"] == "StarFFT_Gflops"]
    assert [row["side"] for row in rows] == list(FABRICS)
    (best,) = [row for row in rows if row["is_best"] == "yes"]
    text = f"{float(best['value']):.3f}"[:4]
    for written in (page_of(hpcc()), render_markdown(found, ".."), render_latex(found)):
        assert text in written


def test_a_figure_that_only_one_side_measured_has_no_best() -> None:
    campaign = make_application({"host": usl(), "overlay": usl()}, (1, 2), missing=[("overlay", 2)])
    (table,) = content_of(campaign).values
    assert {row.step: len(row.best) for row in table.rows} == {"1\u202fnode": 1, "2\u202fnodes": 0}
    assert "–" in render_markdown(content_of(campaign), "..")


def test_means_of_two_kinds_have_no_best() -> None:
    """Of 1 and 9 the geometric mean is 3, and of 0 and 8 the arithmetic one is 4; yet 1 and 9 cost more."""
    values = {"host": (1.0, 9.0), "overlay": (0.0, 8.0), "macvlan": (2.0, 7.0)}
    campaign = make_campaign([make_case(name) for name in values], blocks=2)
    attempts = tuple(
        msgspec.structs.replace(
            one,
            series=[
                Series(
                    fom="latency",
                    unit="us",
                    better=Better.LOWER,
                    values=[values[campaign.cases[one.case].network or ""][one.block - 1]],
                )
            ],
        )
        for one in campaign.attempts
    )
    (table,) = content_of(msgspec.structs.replace(campaign, attempts=attempts)).values
    assert [row.best for row in table.rows] == [frozenset()]


def test_values_by_size_are_on_the_page_and_in_the_summary_only_if_chosen() -> None:
    campaign = three_networks()
    assert "What did each one measure?" in page_of(campaign)
    assert "What did each one measure?" not in render_markdown(content_of(campaign), "..")
    chosen = content(campaign, answers_of(campaign), selection=Selection(foms=("latency",)))
    assert "What did each one measure?" in render_markdown(chosen, "..")
    assert {row.fom for table in chosen.values for row in table.rows} == {"latency"}


def test_a_chosen_figure_of_merit_replaces_the_primary_ones_in_the_charts(tmp_path: Path) -> None:
    campaign = single_numbers(tmp_path)
    chosen = ("HPL_us", "Stream_us")
    statistics = ReportStatistics.of(campaign, foms=chosen)
    found = content(campaign, statistics, painter=Painter(), selection=Selection(foms=chosen))
    (figure,) = [one for one in found.figures if one.name == "figures"]
    assert {point.at.split(" (")[0] for _, _, point in figure.points} == {"HPL us", "Stream us"}
    assert found.answers == content_of(campaign).answers


def test_each_chosen_figure_has_a_scaling_of_its_own() -> None:
    campaign = make_application({"host": usl(), "overlay": usl()})
    hours = [
        msgspec.structs.replace(
            one,
            series=[
                *one.series,
                Series(
                    fom="hours_per_ns",
                    unit="h/ns",
                    better=Better.LOWER,
                    values=[24 / one.series[0].values[0]],
                ),
            ],
        )
        for one in campaign.attempts
    ]
    campaign = msgspec.structs.replace(campaign, attempts=tuple(hours))
    chosen = (NS_PER_DAY.name, "hours_per_ns")
    statistics = ReportStatistics.of(campaign, foms=chosen)
    found = content(campaign, statistics, painter=Painter(), selection=Selection(foms=chosen))
    (speedup,) = [one for one in found.figures if one.name == "speedup"]
    assert [panel.title.split(" · ")[-1] for panel in speedup.panels] == ["ns per day", "hours per ns"]
    (time,) = [one for one in found.figures if one.name == "time"]
    assert all(point.low is not None for _, _, point in time.points)


def test_the_numbers_behind_a_chart_are_its_points() -> None:
    (figure,) = [one for one in content_of(three_networks()).figures if one.name == "time"]
    rows = read(figure_csv(figure))
    assert [float(row["value"]) for row in rows] == [point.y for _, _, point in figure.points]
    assert {row["side"] for row in rows} == {"host", "overlay", "macvlan"}


def test_csv_is_written_beside_no_page_and_no_picture(tmp_path: Path) -> None:
    campaign = three_networks(blocks=3)
    files = write_report(campaign, answers_of(campaign), tmp_path, formats=[Format.CSV])
    assert files == {Format.CSV: tmp_path / "values.csv"}
    charts = {path.name for path in (tmp_path / "charts").iterdir()}
    assert charts == {"time.csv", "rate.csv", "ratio.csv", "nodes.csv", "blocks.csv"}


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    campaign = hostile(tmp_path, f"=cmd{HOSTILE}")
    found = content_of(campaign)
    texts = [values_csv(found.values), *map(figure_csv, found.figures)]
    cells = [cell for text in texts for row in csv.reader(io.StringIO(text)) for cell in row]
    assert any("cmd" in cell for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)


def test_each_chart_and_table_of_the_page_may_be_downloaded() -> None:
    found = content_of(hpcc())
    links = [one for one in Page(page_of(hpcc())).all("a") if "download" in one.attributes]
    names = {one.attributes["download"] for one in links}
    charts = {f"synthetic-{figure.name}.{kind}" for figure in found.figures for kind in ("csv", "svg")}
    assert names == charts | {"synthetic-values-1.csv"}
    texts = {
        one.attributes["download"]: base64.b64decode(one.attributes["href"].partition("base64,")[2]).decode()
        for one in links
        if "href" in one.attributes
    }
    for figure in found.figures:
        assert texts[f"synthetic-{figure.name}.csv"] == figure_csv(figure)
    assert [row["Figure of merit"] for row in read(texts["synthetic-values-1.csv"])] == [
        row.fom.replace("_", " ") for row in found.values[0].rows
    ]


def test_of_too_many_values_the_page_names_the_file_that_has_all() -> None:
    cases = [
        make_case(network, workload=f"w{index}")
        for index in range(40)
        for network in ("host", "overlay", "macvlan")
    ]
    campaign = make_campaign(cases, sizes=[2**power for power in range(20)], blocks=3)
    found = content(campaign, answers_of(campaign))
    page = Page(render(campaign, found))
    assert len(found.values) == 40
    assert "15 tables more: the file values.csv has all" in page.one("values").text
    assert len({row["problem"] for row in read(values_csv(found.values))}) == 40


def test_a_published_table_has_the_digits_and_the_best_that_were_published() -> None:
    found = content_of(as_campaign(read_publication("hpcc-fabrics")))
    (table,) = found.values
    latency = next(row for row in table.rows if row.fom == "RandomlyOrderedRingLatency_usec")
    assert {variant.name for variant in latency.best} == {"roce-25g"}
    text = render_markdown(found, "..")
    for value in ("87.761", "100.14", "3.054", "**★ 2.508**", "0.005", "**★ 0.348**", "**★ 44.179**"):
        assert f" {value} |" in text
