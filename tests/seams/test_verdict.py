"""A verdict is one object: its rule, word, sign, colours and phrases; every output takes it from there."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import httpx
import msgspec
import pytest

from cli.conftest import call_tare_here
from live.conftest import running
from report.studies import content_of, page_of
from support.generated import reference
from support.synthetic import make_campaign, write_campaign
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.variability import variabilities
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict, differences, verdict_named, verdict_of, verdicts
from tare.core.workload import Better
from tare.live import pages
from tare.live.charts import changes
from tare.live.pages import static
from tare.report.formats.latex import render_latex
from tare.report.formats.markdown import render_markdown
from tare.report.variants import lay_out


@pytest.fixture
def campaign(stranger: Path, tmp_path: Path) -> Campaign:
    """Return a campaign whose latency is 1.5 times the reference's, of which nobody says what is better."""
    known = make_campaign(noise=0.001, folder=tmp_path / "campaign")
    attempts = tuple(
        msgspec.structs.replace(
            one, series=[msgspec.structs.replace(series, better=None) for series in one.series]
        )
        for one in known.attempts
    )
    found = msgspec.structs.replace(known, attempts=attempts)
    write_campaign(found, found.folder)
    return found


def test_a_verdict_of_another_package_is_drawn_by_its_own_rule(campaign: Campaign) -> None:
    assert [str(one) for one in verdicts()] == ["worse", "better", "different", "equivalent", "undecided"]
    assert {one.verdict.value for one in comparisons(campaign)} == {"different"}
    assert verdict_of(1.4, 1.6, margin=0.02, better=Better.LOWER) is Verdict.WORSE
    assert verdict_of(0.999, 1.001, margin=0.02, better=None) is Verdict.EQUIVALENT


def test_compare_and_check_say_it_with_its_sign_and_json_with_its_word(campaign: Campaign) -> None:
    asked = call_tare_here("compare", campaign.folder)
    table = asked.stdout
    assert asked.returncode == 0, asked
    assert table.count("≠ different") == 2, table
    assert "▲ is worse, ▼ is better, ≠ is different" in table
    body = json.loads(call_tare_here("compare", campaign.folder, "--json").stdout)
    assert {one["verdict"] for one in body["figures"]} == {"different"}
    ended = call_tare_here("check", campaign.folder, "--fail-if", "ratio(latency, network=overlay) > 1.2")
    assert (ended.returncode, "≠ different" in ended.stdout) == (1, True), ended


def test_the_report_has_its_cells_key_filter_colours_and_sentence(campaign: Campaign) -> None:
    page = page_of(campaign)
    assert '<button type="button" class="cell different-4"' in page
    assert '<span class="swatch different-4">≠</span> different' in page
    assert '.verdict.different::before { content: "≠ "; color: var(--different-ink); }' in page
    assert page.count("--different-ink: #4b2e83") == 1
    assert "--different-ink: #c9b3f0" in page
    assert re.search(r"<option[^>]*>different", page)
    markdown = render_markdown(content_of(campaign), "..")
    assert "≠ different" in markdown.replace("\\", "")
    assert r"\ensuremath{\neq}~\num{+50" in render_latex(content_of(campaign))
    assert r"\ensuremath{\neq}~different" in render_latex(content_of(campaign))


def test_the_live_page_paints_it(campaign: Campaign) -> None:
    chart = changes(aggregates(campaign), lay_out(campaign, comparisons(campaign)), campaign.plan.margin)
    assert {(one.verdict, one.sign, one.paint) for one in chart.bars} == {("different", "≠", "different")}
    forget_pages()
    assert ".mark.different { color: var(--different-ink); }" in static("style.css")
    forget_pages()


def forget_pages() -> None:
    """Forget what the live page was made of, which other tests in this process may have asked for."""
    static.cache_clear()
    pages._environment.cache_clear()


def test_the_live_page_and_its_api_answer_with_it(campaign: Campaign) -> None:
    with running(campaign.folder) as (_, url):
        page = httpx.get(f"{url}/c/{campaign.folder.name}", timeout=60).text
        body = httpx.get(f"{url}/api/c/{campaign.folder.name}", timeout=60)
    assert "≠" in page
    assert body.status_code == 200, body.text
    assert "different" in body.text


def test_the_reference_explains_it(stranger: Path) -> None:
    assert (
        "| ≠ | different | differs from the reference, and nobody said which way is better |" in reference()
    )


def test_scatter_is_told_in_its_words(campaign: Campaign) -> None:
    assert {one.verdict.scatter for one in variabilities(campaign)} <= {one.scatter for one in verdicts()}


def test_without_that_package_nobody_knows_it() -> None:
    assert [str(one) for one in differences()] == ["worse", "better"]
    with pytest.raises(KeyError):
        verdict_named("different")


def test_no_two_verdicts_share_a_sign_a_word_or_a_place(stranger: Path) -> None:
    for told in ({one.sign for one in verdicts()}, {one.order for one in verdicts()}, {*verdicts()}):
        assert len(told) == len(verdicts())


def test_a_copied_verdict_is_the_same_object() -> None:
    assert copy.deepcopy(Verdict.WORSE) is Verdict.WORSE
