"""A section of the report is one file: the page, the summary and the tables of a paper have it at once."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import httpx
import pytest

from live.conftest import running
from report.studies import answers_of, content_of, page_of
from support.synthetic import make_campaign, write_campaign
from tare.core.errors import UsageError
from tare.report import section
from tare.report.content import content
from tare.report.formats import templates
from tare.report.formats.latex import render_latex
from tare.report.formats.markdown import render_markdown
from tare.report.formats.page import render
from tare.report.section import Section, sections


def test_every_format_has_the_section_of_another_package(stranger: Path) -> None:
    campaign = make_campaign()
    page = page_of(campaign)
    assert '<h2 id="stranger-time-title">What did it all take?</h2>' in page
    assert "All runs together took 10.0 s &amp; no more." in page
    assert page.index('id="missing"') < page.index('id="stranger-time"') < page.index('id="methods"')
    markdown = render_markdown(content_of(campaign), "..")
    assert "### What did it all take?" in markdown
    assert re.search(r"\| overlay +\| 5\.0.s \|", markdown.replace("\\", ""))
    latex = render_latex(content_of(campaign))
    assert r"\label{tab:synthetic-stranger-time-1}" in latex
    assert "overlay & 5.0 s" in latex


def test_the_report_of_the_live_page_has_it_too(stranger: Path, tmp_path: Path) -> None:
    write_campaign(make_campaign(), tmp_path / "demo")
    with running(tmp_path / "demo") as (_, url):
        page = httpx.get(f"{url}/c/demo/report/", timeout=60).text
    assert "What did it all take?" in page


def test_a_section_that_fails_reports_it_and_stops_no_other(
    stranger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(facts: object) -> None:
        raise OSError("no socket <found>")

    known = (Section("broken", "Is it broken?", "missing", broken), *sections())
    monkeypatch.setattr(section, "sections", lambda: known)
    campaign = make_campaign()
    page = render(campaign, content(campaign, answers_of(campaign)))
    assert "This section could not be made: OSError: no socket &lt;found&gt;." in page
    assert "What did it all take?" in page


def test_without_that_package_the_report_has_none_of_it() -> None:
    assert "stranger-time" not in page_of(make_campaign())


def test_a_section_may_bring_a_template_and_a_heading_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Energy(NamedTuple):
        heading: str
        joules: float

    template = tmp_path / "energy.html"
    template.write_text("<p>{{ part.joules|number }}&#8239;J in {{ found.study }}</p>")
    energy = Section(
        "energy", "-", "trust", lambda facts: Energy("What did it <take>?", 12.5), template=template
    )
    for module in (section, templates):
        monkeypatch.setattr(module, "sections", lambda: (*sections(), energy))
    page = page_of(make_campaign())
    assert '<h2 id="energy-title">What did it &lt;take&gt;?</h2>' in page
    assert "<p>12.5&#8239;J in synthetic</p>" in page


def test_sections_of_tare_stand_in_a_chain_with_room_for_others_after_each() -> None:
    own = [one for one in sections() if one.template]
    assert [one.after for one in own] == ["answer", *(one.name for one in own[:-1])]
    assert all(one.template and one.template.is_file() for one in own)


def test_a_section_after_none_that_is_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = ModuleType("lost")
    lost.SECTION = Section("lost", "Where?", "nowhere", lambda facts: None)  # type: ignore[attr-defined]
    monkeypatch.setattr(section, "modules", lambda folder, group: {"lost": lost})
    with pytest.raises(UsageError, match="report section lost: no 'nowhere'; use one of answer"):
        sections.__wrapped__()
