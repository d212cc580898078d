"""One campaign, every output: a latency of +68 % and a bandwidth of −22 % have the same sign everywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from report.studies import content_of, page_of, words_of
from support.synthetic import make_campaign, make_case, write_campaign
from tare.analysis.quoted_figures import quoted
from tare.analysis.verdicts.compare import aggregates, comparison_rows, comparisons, overview_of
from tare.cli.main import make_group
from tare.core.attempt import Series
from tare.core.campaign import Campaign
from tare.core.workload import Better, Fom
from tare.live.charts import changes
from tare.report.charts.drawing import extent_of
from tare.report.charts.forest import describe_forest, forest_panels
from tare.report.charts.panels import scale_panels
from tare.report.formats.latex import render_latex
from tare.report.formats.markdown import render_markdown
from tare.report.variants import lay_out
from tare.report.words.changes import legend

FOMS = (
    Fom(name="latency", unit="us", better=Better.LOWER, is_primary=True),
    Fom(name="bandwidth", unit="MB/s", better=Better.HIGHER, is_primary=True),
)
LATENCY, BANDWIDTH = r"\+6[78](\.\d+)? ?(\\,)?%", r"[−-]2[12](\.\d+)? ?(\\,)?%"
WRONG = r"([−-]6[78]|\+2[12])(\.\d+)? ?%"


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """Return a campaign in which the overlay has 68 % more latency and 22 % less bandwidth."""
    cases = [make_case(network) for network in ("host", "overlay")]
    made = make_campaign(cases, blocks=8)
    random = np.random.default_rng(3)
    changed = {cases[0].id: (1.0, 1.0), cases[1].id: (1.68, 0.78)}
    attempts = tuple(
        msgspec.structs.replace(
            one,
            series=[
                Series(fom=fom.name, unit=fom.unit, better=fom.better, at={}, values=[float(value)])
                for fom, value in zip(
                    FOMS,
                    np.array((20.0, 900.0)) * changed[one.case] * np.exp(random.normal(0, 0.002, 2)),
                    strict=True,
                )
            ],
        )
        for one in made.attempts
    )
    plan = msgspec.structs.replace(made.plan, foms={cases[0].workload: FOMS})
    return msgspec.structs.replace(made, plan=plan, attempts=attempts)


@pytest.fixture(scope="module")
def folder(campaign: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(campaign, tmp_path_factory.mktemp("signs") / "c")


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


def tare(*words: str) -> str:
    return plain(CliRunner().invoke(make_group(), words, catch_exceptions=False).output)


def test_the_sentence_states_more_of_the_one_and_less_of_the_other(campaign: Campaign) -> None:
    (answer,) = words_of(campaign)
    said = plain(answer.sentence)
    assert re.search(r"latency \(6[78](\.\d)? % higher \[", said)
    assert re.search(r"bandwidth \(2[12](\.\d)? % lower \[", said)


def test_the_page_has_them_with_their_signs_and_states_the_convention_once(campaign: Campaign) -> None:
    page = plain(page_of(campaign))
    table = re.search(r'<table class="heat".*?</table>', page, re.DOTALL)
    assert table is not None
    assert re.search(LATENCY, table[0])
    assert re.search(BANDWIDTH, table[0])
    assert not re.search(WRONG, page)
    assert page.count("The sign is that of the figure itself") == 1
    assert re.search(r"<dt>Measured</dt><dd>33\.\d+ µs, host 20\.\d+ µs</dd>", page)


def test_the_texts_have_them_with_their_signs(campaign: Campaign) -> None:
    markdown = plain(render_markdown(content_of(campaign), ".."))
    assert re.search(LATENCY, markdown)
    assert re.search(BANDWIDTH, markdown)
    assert not re.search(WRONG, markdown)
    assert legend() in plain(markdown).replace("\\", "")
    latex = render_latex(content_of(campaign))
    assert re.search(r"\\num\{\+6[78]", latex)
    assert re.search(r"\\num\{-2[12]", latex)


def test_the_charts_have_the_ratio_and_the_change_of_the_figure_itself(campaign: Campaign) -> None:
    variants = lay_out(campaign, comparisons(campaign))
    n_points = comparison_rows(campaign).n_points()
    (panel,) = forest_panels(quoted(aggregates(campaign)), n_points, variants)
    said = plain(describe_forest(panel))
    assert re.search(LATENCY, said)
    assert re.search(BANDWIDTH, said)
    ((latency, bandwidth),) = (line.points for line in panel.lines)
    assert latency.y == pytest.approx(1.68, rel=0.01)
    assert bandwidth.y == pytest.approx(0.78, rel=0.01)


def test_the_live_page_has_them_with_their_signs(campaign: Campaign) -> None:
    variants = lay_out(campaign, comparisons(campaign))
    found = changes(aggregates(campaign), variants, campaign.plan.margin)
    latency, bandwidth = found.bars
    assert re.match(LATENCY, plain(latency.change))
    assert re.match(BANDWIDTH, plain(bandwidth.change))
    assert latency.at is not None
    assert bandwidth.at is not None
    assert bandwidth.at < found.one < latency.at
    assert {one.verdict for one in found.bars} == {"worse"}
    assert overview_of(aggregates(campaign))[0].change == pytest.approx(0.68, rel=0.02)


def test_compare_has_them_with_their_signs_in_the_table_and_in_json(folder: Path) -> None:
    table = tare("compare", str(folder))
    assert re.search(LATENCY + r" \[.*▲ worse", table)
    assert re.search(BANDWIDTH + r" \[.*▲ worse", table)
    assert legend() in table
    assert re.search(r"20\.\d+ µs +33\.\d+ µs +\+6", table), "what both sides measured stands beside it"
    assert re.search(r"(89|90)\d(\.\d)? MB/s +70\d(\.\d)? MB/s +−2", table)
    rows = {one["fom"]: one for one in json.loads(tare("compare", str(folder), "--json"))["comparisons"]}
    assert rows["latency"]["change"] == pytest.approx(0.68, rel=0.02)
    assert rows["bandwidth"]["change"] == pytest.approx(-0.22, rel=0.02)
    for one in rows.values():
        reference, contender = one["reference_level"], one["contender_level"]
        assert contender["value"] / reference["value"] == pytest.approx(one["ratio"])
        assert reference["low"] < reference["value"] < reference["high"]


def test_check_has_them_with_their_signs_in_every_format(folder: Path, tmp_path: Path) -> None:
    junit, summary = tmp_path / "check.xml", tmp_path / "summary.md"
    rule = ("check", str(folder), "--fail-if", "overhead(network=overlay) > 5 %")
    said = tare(*rule, "--junit", str(junit), "--summary", str(summary))
    for text in (said, junit.read_text(), summary.read_text()):
        clean = plain(text).replace("\\", "")
        assert re.search(LATENCY, clean)
        assert re.search(BANDWIDTH, clean)
        assert re.search(r"[−-]5 %", clean), "the limit has the sign of what it is held against"
        assert not re.search(WRONG, clean)
    rows = json.loads(tare(*rule, "--json"))["rules"][0]["comparisons"]
    assert {one["fom"]: round(one["change"], 2) for one in rows} == {"latency": 0.68, "bandwidth": -0.22}
    for one in rows:
        low, high = one["change_low"], one["change_high"]
        assert low < one["change"] < high


def test_the_chart_of_figures_states_on_which_variant_a_figure_is_better(campaign: Campaign) -> None:
    content = content_of(campaign)
    (forest,) = [one for one in content.figures if one.name == "figures"]
    assert "right of it is worse" not in forest.text, "bandwidth that is lower lies left of it"
    named = [point.at for _, _, point in forest.points]
    assert f'"minExtent":{extent_of(named, 330)}' in forest.specs[0], "long names are not cut at the left"
    assert "right of it the figure is higher" in forest.text
    told = " ".join(forest.descriptions)
    assert "lower is better" in told
    assert "higher is better" in told


def test_the_charts_over_nodes_have_each_figure_and_its_direction() -> None:
    cases = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in (2, 4)]
    made = make_campaign(cases, blocks=6, ratio={"host": 1.0, "overlay": 1.5})
    rows = aggregates(made)
    panels = scale_panels(rows, lay_out(made, rows))
    assert [panel.subtitle for panel in panels] == [
        "latency, all sizes, lower is better",
        "bandwidth, all sizes, higher is better",
    ]
    for panel, up in zip(panels, (True, False), strict=True):
        assert all((point.y > 1) == up for line in panel.lines for point in line.points)
