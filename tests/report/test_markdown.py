"""The summary for pull requests, as a reader of GitHub-flavoured Markdown sees it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from report.html_reader import Page
from report.studies import HOSTILE, answers_of, hostile, three_networks, with_gaps
from support.synthetic import make_campaign
from tare.core.campaign import Campaign
from tare.core.verdict import verdicts
from tare.report.charts import palette
from tare.report.content import content
from tare.report.escaping import markdown
from tare.report.formats.markdown import render_markdown
from tare.report.words.numbers import visible


def read(text: str) -> Page:
    return Page(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def summary(campaign: Campaign) -> Page:
    return read(render_markdown(content(campaign, answers_of(campaign)), ".."))


def test_the_answer_comes_first_and_then_a_table_of_changes_with_signs() -> None:
    page = summary(three_networks(blocks=12))
    assert page.all("h2")[0].text == "What does the overlay cost?"
    assert (
        page.all("li")[0]
        .text.strip()
        .startswith("■ overlay is worse than host in synthetic.pingpong’s latency")
    )
    first = page.all("table")[0].text
    assert "Where" in first
    assert "▲ +50" in first
    assert "≈ " in first
    assert {head.text for head in page.all("th")} >= {"overlay", "macvlan"}


def test_a_change_beyond_tenfold_is_a_ratio() -> None:
    page = summary(make_campaign(ratio=160.0, noise=0.002))
    assert re.search(r"▲ 1[56]\d[\d.]*\s× \[", page.all("table")[0].text)
    assert any("beyond tenfold" in one.text for one in page.all("p"))


def test_missing_runs_are_reported_with_their_reason_and_check() -> None:
    text = "\n".join(element.text for element in summary(with_gaps(three_networks())).all("table"))
    assert "eth0 carried the data (check: transport)" in text
    assert "not run yet" in text


def test_a_campaign_without_a_run_reports_it_and_has_no_table_of_changes() -> None:
    page = summary(msgspec.structs.replace(three_networks(), attempts=()))
    assert "No run is done yet" in page.all("p")[1].text


def test_the_evidence_is_one_link_away() -> None:
    links = [link.attributes["href"] for link in summary(three_networks(blocks=3)).all("a")]
    assert links == ["index.html", "../"]


def test_hostile_names_add_nothing_to_the_summary(tmp_path: Path) -> None:
    page = summary(hostile(tmp_path))
    assert {element.tag for element in page.elements} <= {
        *("h2", "h3", "p", "strong", "em", "ul", "li", "a"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert [link.attributes["href"][-1] for link in page.all("a")] == ["l", "/"]
    assert page.all("h2")[0].text == visible(HOSTILE)


@pytest.mark.parametrize(
    "name", ["@someone", "fixes #12", "https://example.org", "www.example.org", "a|b", "$x$"]
)
def test_what_github_would_bring_to_life_stays_text(name: str) -> None:
    cells = read(f"| a | b |\n| --- | --- |\n| {markdown(name)} | 2 |\n")
    assert [cell.text for cell in cells.all("td")] == [name, "2"]
    assert name not in markdown(name)


@given(st.text(max_size=40))
def test_any_text_stays_in_its_cell(text: str) -> None:
    page = read(f"| a | b |\n| --- | --- |\n| x{markdown(text)}x | 2 |\n")
    assert [cell.text for cell in page.all("td")][1:] == ["2"]
    assert {element.tag for element in page.elements} == {"table", "thead", "tbody", "tr", "th", "td"}


def test_no_sign_of_a_variant_is_that_of_a_verdict() -> None:
    """A line on an undecided third contender must not begin with ▲."""
    assert not {verdict.sign for verdict in verdicts()} & set(palette.SIGNS)
    assert len(set(palette.SIGNS)) == len(palette.SHAPES) == len(set(palette.SHAPES))
