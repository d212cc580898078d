"""What the page lets a reader download, in a real browser and without a network."""

from __future__ import annotations

import csv
import io
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from report.studies import page_of, three_networks

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytest.importorskip("playwright", reason="playwright is not installed: pip install playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Open a report under the policy that it states itself, and refuse it every address but its own."""
    from playwright.sync_api import sync_playwright

    path = tmp_path_factory.mktemp("downloads") / "report.html"
    path.write_text(page_of(three_networks(blocks=3)), encoding="utf-8")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page()
        page.route(lambda url: url.startswith("http"), lambda route: route.abort())
        page.goto(path.as_uri())
        yield page
        browser.close()


def downloaded(page: Page, link: Locator) -> tuple[str, bytes]:
    with page.expect_download() as waiting:
        link.click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def test_every_chart_has_its_numbers_and_its_picture_in_two_formats(page: Page) -> None:
    n_figures = page.locator("figure").count()
    assert n_figures > 3
    for name in ("Download the numbers of", "Download Against message size: latency as SVG"):
        assert page.get_by_label(name).count()
    assert page.locator("figure .downloads a[download$='.csv']").count() == n_figures
    assert page.locator("figure .downloads a.picture:visible").count() == n_figures
    assert page.locator("figure .downloads button.raster:visible").count() == n_figures


def test_the_png_of_a_chart_is_as_large_as_its_svg_twice_over(page: Page) -> None:
    name, picture = downloaded(page, page.locator("#figure-time button.raster"))
    assert name == "synthetic-time.png"
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    natural = page.evaluate(
        "(() => { const one = document.querySelector('#figure-time img.still');"
        " return [one.naturalWidth, one.naturalHeight]; })()"
    )
    assert [width, height] == [2 * one for one in natural]
    assert len(set(picture)) > 100  # not one colour only


def test_the_svg_and_the_numbers_of_a_chart_come_out_whole(page: Page) -> None:
    name, picture = downloaded(page, page.locator("#figure-time a.picture"))
    assert name == "synthetic-time.svg"
    assert picture.startswith(b"<svg")
    name, text = downloaded(page, page.locator("#figure-time a[download$='.csv']"))
    assert name == "synthetic-time.csv"
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    assert {row["side"] for row in rows} == {"host", "overlay", "macvlan"}
