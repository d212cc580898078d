"""Charts and tables of the articles: each is drawn by the command that the page names, or has a reason."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.articles import charts
from bench.articles.article import FOLDER, keys, read_article
from bench.articles.charts import MOST_BYTES, PAGE, Counterpart, charts_page, draw_charts, read_counterparts
from bench.articles.results import read_results
from report.studies import three_networks, with_gaps
from support.synthetic import write_campaign
from tare.app import planning
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.telemetry import PREFIX

ARTICLES = {key: read_article(key) for key in keys()}
COUNTERPARTS = [(article, one) for article in ARTICLES.values() for one in read_counterparts(article)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a subfolder for each article."""
    for key in ARTICLES:
        (tmp_path / "articles" / key).mkdir(parents=True)
    return tmp_path / "articles"


def test_the_page_is_current() -> None:
    articles = [(article, read_results(key)) for key, article in ARTICLES.items()]
    assert (FOLDER / PAGE).read_text(encoding="utf-8") == charts_page(articles)


def test_every_link_of_the_page_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (FOLDER / PAGE).read_text(encoding="utf-8")):
        assert (FOLDER / target).exists(), target


@functools.cache
def plan_of(path: Path) -> Plan:
    return planning.load(path).plan


def test_every_command_names_figures_and_settings_of_its_study() -> None:
    unknown = []
    for article, one in COUNTERPARTS:
        paths = {study.name: article.path_of(study) for study in article.studies}
        plan = plan_of(paths.get(one.campaign, FOLDER / article.key / f"{one.campaign}.yaml"))
        figures = {fom.name for foms in plan.foms.values() for fom in foms}
        settings = {name for case in plan.cases for name in case.settings}
        telemetry = {f"{PREFIX}cpu_system", f"{PREFIX}network_rate"}
        for option, value in zip(one.options[::2], one.options[1::2], strict=True):
            name, _, factor = value.partition(":")
            named, known = {
                "--fom": ({value}, figures),
                "--base": ({value.partition("=")[0]}, settings),
                "--chart": ({name, factor} if factor else set[str](), figures | settings | telemetry),
            }[option]
            if not named <= known:
                unknown.append(one.command)
    assert unknown == []


def test_every_published_article_has_charts_and_no_two_have_the_same_file() -> None:
    assert {article.key for article, _ in COUNTERPARTS} == set(ARTICLES)
    files = [(article.key, one.file) for article, one in COUNTERPARTS if one.figure]
    assert len(files) == len(set(files))


def test_every_kept_file_belongs_to_a_chart_is_small_and_runs_nothing() -> None:
    known = {FOLDER / article.key / one.file for article, one in COUNTERPARTS}
    for path in FOLDER.glob("*/charts/*"):
        assert path in known, path
        assert path.stat().st_size <= MOST_BYTES
        if path.suffix == ".svg":
            root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
            assert not [one for one in root.iter() if one.tag.endswith(("script", "foreignObject"))]


def test_charts_are_drawn_from_a_complete_campaign_by_the_command_that_the_page_names(
    tmp_path: Path, folder: Path
) -> None:
    write_campaign(three_networks(blocks=3), tmp_path / "demo")
    draw_charts(ARTICLES["red-hat"], tmp_path, folder)
    drawn = {path.name for path in (folder / "red-hat" / "charts").iterdir()}
    assert drawn == {"latency-by-size.svg", "latency-ratio.svg"}
    page = charts_page([(ARTICLES["red-hat"], read_results("red-hat", folder))], folder)
    assert "](red-hat/charts/latency-ratio.svg)" in page
    assert "`tare report campaigns/demo --fom latency`" in page
    assert "not drawn yet" in page


def test_a_campaign_that_is_not_complete_is_not_drawn(tmp_path: Path, folder: Path) -> None:
    write_campaign(with_gaps(three_networks(blocks=3)), tmp_path / "demo")
    draw_charts(ARTICLES["red-hat"], tmp_path, folder)
    assert not (folder / "red-hat" / "charts").exists()


def test_a_table_is_kept_with_its_best_values_marked(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Counterpart(published="t", shows="T", campaign="demo", figure="values", name="t", options=_LATENCY)
    monkeypatch.setattr(charts, "read_counterparts", lambda article: (one,))
    write_campaign(three_networks(blocks=3), tmp_path / "demo")
    draw_charts(ARTICLES["red-hat"], tmp_path, folder)
    text = (folder / "red-hat" / "charts" / "t.md").read_text(encoding="utf-8")
    assert "`tare report campaigns/demo --fom latency --format markdown`" in text
    assert text.count("★") > 3
    assert "What is missing" not in text


def test_a_chart_that_the_report_lacks_is_an_error_with_those_it_has(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Counterpart(published="x", shows="X", campaign="demo", figure="pie", name="x", options=_LATENCY)
    monkeypatch.setattr(charts, "read_counterparts", lambda article: (one,))
    write_campaign(three_networks(blocks=3), tmp_path / "demo")
    with pytest.raises(UsageError, match="no chart 'pie'; it has blocks, nodes, ratio, time"):
        draw_charts(ARTICLES["red-hat"], tmp_path, folder)


_LATENCY = ("--fom", "latency")


def test_a_chart_is_drawn_or_has_a_reason() -> None:
    with pytest.raises(ValueError, match="give figure and name, or cannot"):
        Counterpart(published="x", shows="X", campaign="demo")
    with pytest.raises(ValueError, match="give figure and name, or cannot"):
        Counterpart(published="x", shows="X", campaign="demo", figure="time", name="x", cannot="it is dark")
