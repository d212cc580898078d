"""The charts of a page on a phone, in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.profiled import BASE, profiled_campaign, with_more
from tare.cli.commands import report

playwright_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


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
