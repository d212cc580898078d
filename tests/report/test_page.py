"""The page as a whole: nothing fetched, nothing run that is not ours, nothing left out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import msgspec
import pytest

from report.html_reader import Element, Page, unpacked
from report.studies import (
    HOSTILE,
    answers_of,
    content_of,
    hostile,
    page_of,
    part_of,
    three_networks,
    with_gaps,
)
from support.synthetic import make_campaign, make_case
from tare.core.attempt import State
from tare.core.errors import UsageError
from tare.report import formats
from tare.report.formats.page import json_block, render
from tare.report.listing import MOST_ROWS
from tare.report.sections.overview import Overview
from tare.report.sections.verdicts import Verdicts
from tare.report.words.changes import change
from tare.report.words.numbers import ratio
from tare.report.writing import Format, write_report


@pytest.fixture(scope="module")
def html() -> str:
    return page_of(with_gaps(three_networks()))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


@pytest.fixture(scope="module")
def hostile_html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(hostile(tmp_path_factory.mktemp("hostile")))


def run_rows(page: Page) -> list[Element]:
    found = [element for element in page.all("tr") if "data-state" in element.attributes]
    return [row for row in found if row.attributes["data-state"] in [*State]]


def test_the_page_fetches_nothing(page: Page, html: str) -> None:
    loads = [
        value
        for element in page.elements
        for name, value in element.attributes.items()
        if name in ("src", "srcset", "data", "poster", "action") or (name == "href" and element.tag != "a")
    ]
    assert loads
    assert all(value.startswith("data:") for value in loads)
    style = page.all("style")[0].text
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in html


def test_links_lead_into_the_page_the_campaign_or_to_a_doi(page: Page) -> None:
    targets = [element.attributes["href"] for element in page.all("a") if "href" in element.attributes]
    assert all(re.match(r"#|\.\./attempts/|https://doi\.org/|data:text/csv;", target) for target in targets)


def test_only_scripts_whose_hash_the_policy_names_may_run(page: Page) -> None:
    (policy,) = [
        element.attributes["content"] for element in page.all("meta") if "http-equiv" in element.attributes
    ]
    scripts = [element.text for element in page.all("script") if "type" not in element.attributes]
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    assert allowed == [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe-inline'" not in policy


def test_hostile_strings_add_no_element_to_the_page(hostile_html: str) -> None:
    tame, wild = (Page(html) for html in (page_of(with_gaps(make_campaign(blocks=6))), hostile_html))
    assert len(wild.all("script")) == len(tame.all("script"))
    assert not [
        element for element in wild.elements if any(name.startswith("on") for name in element.attributes)
    ]
    assert {element.attributes["src"][:5] for element in wild.all("img")} == {"data:"}
    assert all(element.attributes.get("alt") is not None for element in wild.all("img"))


def test_hostile_strings_are_shown_as_they_are_written_with_control_characters_as_signs(
    hostile_html: str,
) -> None:
    shown = HOSTILE.replace("\u202e", "⟨U+202E⟩").replace("\x1b", "␛").replace("\ufffe", "⟨U+FFFE⟩")
    assert Page(hostile_html).one("question").text == shown
    assert "\x1b" not in hostile_html
    assert "\u202e" not in hostile_html
    assert "49" not in Page(hostile_html).one("question").text


def test_json_inside_the_page_cannot_end_its_script_element() -> None:
    block = str(json_block({"<!--": "</script>&\u2028"}))
    assert not set("<>&\u2028") & set(block)
    assert json.loads(block) == {"<!--": "</script>&\u2028"}


def test_every_planned_run_has_a_row_and_a_state(page: Page) -> None:
    campaign = with_gaps(three_networks())
    rows = run_rows(page)
    assert len(rows) == len(campaign.attempts) + 1  # one planned run was never begun
    by_state = {state: sum(row.attributes["data-state"] == state for row in rows) for state in State}
    assert by_state[State.PENDING] == 1
    assert by_state[State.LOST] == 2  # one of them was tried again
    n_planned = len(campaign.planned())
    assert f"{n_planned} runs planned: {n_planned - 4} done, 1 failed, 1 invalid, 1 lost, 1 pending." in (
        page.one("missing").text
    )


def test_missing_runs_are_shown_with_their_reason_and_check(page: Page) -> None:
    section = page.one("missing").text
    assert section.count("eth0 carried the data (check: transport)") == 3
    assert "not run yet" in section


def test_numbers_on_the_page_are_those_of_the_comparisons(page: Page) -> None:
    answers = answers_of(with_gaps(three_networks()))
    cells = page.all("button", "cell")
    assert len(cells) == len(answers.aggregates) == 8  # two figures of merit, contenders and scales
    order = sorted(answers.aggregates, key=lambda one: one.fom, reverse=True)
    for one, cell in zip(
        sorted(order, key=lambda one: one.contender["network"], reverse=True), cells, strict=True
    ):
        assert str(change(one) or "").split("\u00a0")[0] in cell.text
        assert one.verdict.value in cell.attributes["aria-label"]
    verdicts = page.one("verdicts").text
    for one in answers.comparisons:
        assert ratio(one.ratio) in verdicts


@pytest.mark.parametrize(
    ("blocks", "evidence"), [(2, "2 blocks, no interval"), (5, "5 blocks, 95 % interval")]
)
def test_the_details_of_a_cell_name_an_interval_only_if_there_is_one(blocks: int, evidence: str) -> None:
    found = part_of(content_of(make_campaign(blocks=blocks)), Overview)
    cells = [cell for one in found.maps for row in one.rows for cell in row.cells if cell is not None]
    details = [dict(cell.details)["Evidence"].replace("\u202f", " ").replace("\u00a0", " ") for cell in cells]
    assert details == [evidence] * len(cells)


def test_of_many_contenders_those_that_tell_most_are_open_and_the_others_folded() -> None:
    """A page of 199 contenders was 47,000 pixels high."""
    names = ["host", *(f"net-{number:02}" for number in range(40))]
    ratios = dict.fromkeys(names, 1.0) | {"net-30": 1.5, "net-39": 2.0}
    campaign = make_campaign(
        [make_case(name) for name in names], ratio=ratios, noise=0.002, blocks=5, sizes=(8,)
    )
    found = content_of(campaign)
    listed = found.listed_answers
    opened = [one.variant.name for one in listed.shown]
    assert len(opened) == 12
    assert {"net-30", "net-39"} <= set(opened)
    assert listed.words == "28 more contenders"
    assert len({one.variant.name for one in (*listed.shown, *listed.folded)}) == 40
    (heat_map,) = part_of(found, Overview).maps
    assert (len(heat_map.rows), heat_map.n_open) == (40, 30)
    assert {"net-30", "net-39"} <= {row.variant.name for row in heat_map.rows[:30]}
    page = Page(render(campaign, found))
    assert [one.text for one in page.all("summary") if "more contender" in one.text] == [
        "28 more contenders",
        "10 more contenders, not known to be farther from host than those above",
    ]


def test_every_number_of_the_overview_leads_to_its_runs(page: Page) -> None:
    overview = answers_of(with_gaps(three_networks())).overview
    wanted = {f"{one.reference_case} {one.contender_case}" for one in overview}
    assert wanted <= {link.attributes["data-cases"] for link in page.all("a", "evidence")}
    rows = {row.attributes["data-cases"] for row in run_rows(page)}
    assert {case for pair in wanted for case in pair.split()} <= rows


def test_runs_that_all_failed_are_not_awaited() -> None:
    campaign = three_networks()
    failed = [
        msgspec.structs.replace(one, state=State.FAILED, series=[], reason="exit code 1")
        for one in campaign.attempts
    ]
    answer = Page(page_of(msgspec.structs.replace(campaign, attempts=tuple(failed)))).one("answer").text
    assert "No run is done, so nothing can be said. 30 runs planned: 30 failed." in answer


def test_a_campaign_without_a_run_gives_a_page_that_reports_it() -> None:
    empty = msgspec.structs.replace(three_networks(), attempts=())
    page = Page(page_of(empty))
    assert "No run is done yet" in page.one("answer").text
    assert "30 runs planned: 30 pending." in page.one("answer").text
    assert "0/30 runs" in page.all("p", "campaign")[0].text
    assert not page.all("figure")


def test_a_campaign_without_a_reference_compares_nothing_and_reports_it() -> None:
    campaign = make_campaign(reference={}, blocks=3)
    page = Page(page_of(campaign))
    assert "names no reference" in page.one("answer").text
    assert page.all("figure")


def test_a_case_that_was_never_measured_is_marked_in_the_table() -> None:
    campaign = three_networks()
    lost = next(
        case.id for case in campaign.plan.cases if case.network == "overlay" and case.layout.nodes == 4
    )
    attempts = tuple(one for one in campaign.attempts if one.case != lost)
    cells = Page(page_of(msgspec.structs.replace(campaign, attempts=attempts))).all("button", "missing")
    assert [cell.attributes["aria-label"] for cell in cells] == [
        f"overlay, synthetic.pingpong · 4 nodes, {fom}, all sizes: not measured on both sides: overlay has "
        "none, since it has not been run"
        for fom in ("latency", "bandwidth")
    ]


def test_tables_have_captions_and_header_cells_have_a_scope(page: Page) -> None:
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in element.attributes for element in page.all("th"))


def test_each_chart_is_reported_in_words_and_in_numbers(page: Page) -> None:
    panels = page.all("div", "panel")
    assert all(
        "overlay from" in panel.attributes["aria-label"] or "from ×" in panel.attributes["aria-label"]
        for panel in panels
    )
    assert all(figure.text.count("The numbers behind this chart") == 1 for figure in page.all("figure"))


@pytest.mark.slow
def test_three_hundred_runs_with_their_output_stay_under_five_megabytes(tmp_path: Path) -> None:
    campaign = three_networks(blocks=50, folder=tmp_path)
    noise = "".join(hashlib.sha256(str(line).encode()).hexdigest() + "\n" for line in range(1200))
    for one in campaign.attempts:
        (tmp_path / one.folder).mkdir(parents=True)
        (tmp_path / one.folder / "stdout").write_text(one.folder + noise)
    assert len(campaign.attempts) == 300
    assert len(page_of(campaign).encode()) < 5_000_000


def test_the_folder_holds_the_page_and_each_chart_as_svg_png_pdf_and_csv(tmp_path: Path) -> None:
    campaign = three_networks(blocks=3)
    files = write_report(campaign, answers_of(campaign), tmp_path / "out")
    assert files == {Format.HTML: tmp_path / "out" / "index.html"}
    names = {chart.name for chart in (tmp_path / "out" / "charts").iterdir()}
    assert names == {
        f"{name}.{kind}"
        for name in ("time", "rate", "ratio", "nodes", "blocks")
        for kind in ("svg", "png", "pdf", "csv")
    }
    assert (tmp_path / "out" / "charts" / "time.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "charts" / "time.pdf").read_bytes().startswith(b"%PDF")


def test_a_template_folder_may_replace_one_file(tmp_path: Path) -> None:
    (tmp_path / "style.css").write_text("body { color: rebeccapurple }")
    campaign = make_campaign(blocks=3)
    page = Page(render(campaign, content_of(campaign), tmp_path))
    assert page.all("style")[0].text == "body { color: rebeccapurple }"
    assert page.one("question").text == "What does the overlay cost?"


@pytest.mark.parametrize("name", ["template.html", "summary.md", "tables.tex"])
def test_a_broken_template_is_a_usage_error_with_the_cure(name: str, tmp_path: Path) -> None:
    campaign = make_campaign(blocks=3)
    answers = answers_of(campaign)
    with pytest.raises(UsageError, match=r"no file there is called template\.html"):
        write_report(campaign, answers, tmp_path / "out", tmp_path)
    (tmp_path / name).write_text("{{ nothing.at.all }} << nothing.at.all >>")
    with pytest.raises(UsageError, match="mend the template"):
        write_report(campaign, answers, tmp_path / "out", tmp_path, [*Format])


def test_of_a_thousand_runs_the_first_are_rows_and_the_others_travel_packed() -> None:
    campaign = with_gaps(three_networks(blocks=170))
    page = Page(page_of(campaign))
    (packed,) = [
        element for element in page.all("script", "rest") if "done" in str(unpacked(json.loads(element.text)))
    ]
    rest = unpacked(json.loads(packed.text))
    n_rows = len(campaign.attempts) + 1
    assert len(run_rows(page)) == MOST_ROWS
    assert len(run_rows(page)) + len(rest) == n_rows
    names = {case.id for case in campaign.plan.cases}
    assert all(set(cases) <= names and state in [*State] for cases, state, *_ in rest)
    assert {run for _, _, run, *_ in rest} <= {one.folder for one in campaign.attempts} | {""}


def test_of_too_many_comparisons_each_figure_is_reported_over_all_of_its_sizes() -> None:
    sizes = [2**power for power in range(26)]
    cases = [make_case(network, workload=f"w{n}") for n in range(14) for network in ("host", "a", "b", "c")]
    found = part_of(content_of(make_campaign(cases, sizes=sizes, blocks=3)), Verdicts)
    assert len(found.rows) == 14 * 3 * 2
    assert "2184 comparisons, one at each size, are too many for a page." in found.left_out
    assert "tare compare DIR --all" in found.left_out


def test_every_section_and_the_glossary_are_one_click_away(page: Page) -> None:
    (contents,) = page.all("nav", "contents")
    assert contents.attributes["aria-label"] == "Contents"
    targets = [link.attributes.get("href") for link in page.all("a") if not link.classes]
    for section in page.all("section"):
        assert f"#{section.attributes['id']}" in targets
    assert targets.count("#glossary") == 2, "in the header, also of a phone, and in the contents"
    assert "interval" in page.one("glossary").text


def test_a_template_folder_without_a_glossary_shows_that_of_tare(tmp_path: Path) -> None:
    own = Path(formats.__file__).with_name("template.html")
    (tmp_path / "template.html").write_text(own.read_text(encoding="utf-8"), encoding="utf-8")
    campaign = make_campaign(blocks=3)
    assert Page(render(campaign, content_of(campaign), tmp_path)).one("glossary")
