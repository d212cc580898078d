"""The page on paper, in a real browser: A4 less its margins is 688 CSS pixels wide."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from report.situations import SITUATIONS
from report.studies import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

playwright_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAPER = 688

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("paper")
    (folder / "report.html").write_text(page_of(SITUATIONS["ordinary"](folder)), encoding="utf-8")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": PAPER, "height": 900})
        page.emulate_media(media="print")
        page.goto((folder / "report.html").as_uri())
        yield page
        browser.close()


def test_charts_that_are_folded_on_the_screen_are_printed(paper: Page) -> None:
    still = paper.locator("#figure-telemetry-2 .still")
    assert still.evaluate("one => one.checkVisibility({ contentVisibilityAuto: true })")
    box = still.bounding_box()
    assert box is not None
    assert box["height"] > 100
    assert not paper.get_by_text("continued: 6 charts").is_visible()


def test_no_word_of_the_table_of_reasons_is_broken(paper: Page) -> None:
    broken = paper.evaluate(
        """[...document.querySelectorAll('#why > .scroll td')].flatMap(cell => {
          const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
          for (let text; (text = walker.nextNode());)
            for (const word of text.data.matchAll(/[\\w.]+/g)) {
              const range = document.createRange();
              range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
              if (new Set([...range.getClientRects()].map(one => one.top)).size > 1) found.push(word[0]);
            }
          return found;
        })"""
    )
    assert paper.locator("#why > .scroll td").count() > 0
    assert broken == []


def test_a_sign_stands_beside_its_ratio_where_the_table_is_tight(paper: Page) -> None:
    paper.set_viewport_size({"width": PAPER * 2 // 3, "height": 900})
    ratios = paper.locator("#why > .scroll td:has(.mark)")
    assert ratios.count() > 0
    one_line = """cells => cells.every(cell => {
      const range = document.createRange();
      range.selectNodeContents(cell.lastChild);
      const sign = cell.querySelector("[aria-hidden]").getBoundingClientRect();
      const [ratio] = range.getClientRects();
      return sign.top < ratio.bottom && ratio.top < sign.bottom;
    })"""
    stands = ratios.evaluate_all(one_line)
    paper.set_viewport_size({"width": PAPER, "height": 900})
    assert stands


def test_no_heading_stands_above_nothing(paper: Page) -> None:
    bare = paper.evaluate(
        """[...document.querySelectorAll('main > section')]
        .filter(one => one.checkVisibility())
        .filter(one => ![...one.children].slice(1).some(part => part.checkVisibility()))
        .map(one => one.id)"""
    )
    assert bare == []


def test_a_column_that_is_only_for_the_screen_has_no_title(paper: Page) -> None:
    assert not paper.locator("#why th", has_text="Evidence").first.is_visible()


def test_no_table_is_wider_than_the_paper(paper: Page) -> None:
    assert paper.evaluate("document.documentElement.scrollWidth") <= PAPER
