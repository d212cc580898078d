"""A page on a phone, in a real browser: its charts, and its tables of reasons."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from report.situations import SITUATIONS
from report.studies import page_of
from support.profiled import BASE, profiled_campaign, with_more
from tare.cli.commands import report

playwright_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "least"), [(390, 0.95), (1280, 0.4)])
def test_a_waterfall_is_as_wide_as_a_phone_and_half_as_wide_as_a_desktop(
    tmp_path: Path, width: int, least: float
) -> None:
    profiled_campaign(tmp_path / "c", BASE, with_more(BASE, ("MPI_Alltoall", 4096), 4.0))
    assert CliRunner().invoke(report.command, [str(tmp_path / "c")]).exit_code == 0
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 844})
        page.goto((tmp_path / "c/report/index.html").as_uri())
        figure = page.locator("figure", has_text="Where the time goes").first
        figure.locator(".panel svg").first.wait_for()
        box, whole = figure.locator(".panel").first.bounding_box(), figure.bounding_box()
        assert least <= box["width"] / whole["width"] <= least + 0.12
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        browser.close()


def test_further_charts_of_nodes_are_folded_and_drawn_when_they_are_opened(tmp_path: Path) -> None:
    """Twelve charts of nodes were followed by as many again: the page was 27,000 pixels long."""
    (tmp_path / "report.html").write_text(page_of(SITUATIONS["ordinary"](tmp_path)), encoding="utf-8")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((tmp_path / "report.html").as_uri())
        page.locator("#figure-telemetry.is-live").wait_for()
        further = page.locator("#figure-telemetry-2")
        assert not further.is_visible()
        page.get_by_text("What the nodes did meanwhile, continued: 6 charts").click()
        further.locator(".panel svg").last.wait_for()
        page.locator("#figure-telemetry-2.is-live").wait_for()
        widths = {box["width"] for one in further.locator(".panel svg").all() if (box := one.bounding_box())}
        assert min(widths) > 300
        browser.close()


@pytest.mark.slow
def test_every_number_of_why_is_seen_on_a_phone_with_the_title_of_its_column(tmp_path: Path) -> None:
    """Below the first three columns the ratio and its interval were beyond the edge."""
    (tmp_path / "report.html").write_text(page_of(SITUATIONS["ordinary"](tmp_path)), encoding="utf-8")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((tmp_path / "report.html").as_uri())
        page.evaluate("document.querySelectorAll('#why details').forEach(one => { one.open = true; })")
        numbers = page.locator("#why > .scroll td.n")
        boxes = [one.bounding_box() for one in numbers.all()]
        assert boxes
        assert all(box is not None and box["x"] + box["width"] <= 390 for box in boxes)
        titles = {one.evaluate("one => getComputedStyle(one, '::before').content") for one in numbers.all()}
        assert titles >= {'"Ratio "', '"Interval "', '"n "'}
        browser.close()


def test_every_fact_of_the_environment_is_seen_on_a_phone_with_the_side_that_has_it(tmp_path: Path) -> None:
    """Of a table with a column for each side, only the first were on the screen."""
    (tmp_path / "report.html").write_text(page_of(SITUATIONS["ordinary"](tmp_path)), encoding="utf-8")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((tmp_path / "report.html").as_uri())
        facts = page.locator("#environment .scroll td").all()
        boxes = [one.bounding_box() for one in facts]
        assert boxes
        assert all(box is not None and box["x"] + box["width"] <= 390 for box in boxes)
        titles = {one.evaluate("one => getComputedStyle(one, '::before').content") for one in facts}
        assert titles == {'"host: "', '"overlay: "', '"macvlan: "'}
        scroller = page.locator("#environment .scroll").first
        assert scroller.evaluate("one => one.scrollWidth <= one.clientWidth")
        browser.close()
