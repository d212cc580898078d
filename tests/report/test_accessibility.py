"""The page for everybody: by axe-core's rules, by keyboard, at narrow widths, in the dark and on paper.

Its pictures are left in ``artefacts/report`` for those who look at them.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from report.situations import SITUATIONS
from report.studies import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PICTURES = Path(__file__).parents[2] / "artefacts" / "report"
WIDTHS = {"wide": 1280, "narrow": 400}
VIEWS = tuple(itertools.product(WIDTHS, ("light", "dark")))
WIDE = VIEWS[:2]

pytest.importorskip("playwright", reason="playwright is not installed: pip install playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=SITUATIONS)
def situation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the name of a situation, and the page that tells of it."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    path = folder / "report.html"
    path.write_text(page_of(SITUATIONS[name](folder)), encoding="utf-8")
    return name, path


class View(NamedTuple):
    """A page as one reader has it before him, and what its picture is called."""

    page: Page
    width: int
    pictures: list[Path]


@pytest.fixture(scope="module", params=VIEWS, ids="-".join)
def view(request: pytest.FixtureRequest, browser: Browser, situation: tuple[str, Path]) -> Iterator[View]:
    """Open the page once for all tests of a reader: its pictures are taken, then every part is unfolded."""
    (width, scheme), (name, path) = request.param, situation
    page = opened(browser, path, WIDTHS[width], is_dark=scheme == "dark")
    pictures = [PICTURES / f"{name}-{scheme}-{width}.png"]
    page.screenshot(path=pictures[0], full_page=True)
    if request.param == VIEWS[0]:
        pictures.append(PICTURES / f"{name}.pdf")
        page.pdf(path=pictures[1], format="A4", print_background=True)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    wait_for_charts(page)
    yield View(page, WIDTHS[width], pictures)
    page.context.close()


def opened(browser: Browser, path: Path, width: int = 1280, *, is_dark: bool = False) -> Page:
    """Return the page with its charts drawn."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if is_dark else "light",
        reduced_motion="reduce",
        bypass_csp=True,  # axe is put into the page, which lets nothing else in
    )
    page = context.new_page()
    page.goto(path.as_uri())
    wait_for_charts(page)
    return page


def wait_for_charts(page: Page) -> None:
    """Wait until every figure that is not folded is drawn."""
    page.wait_for_function(
        "[...document.querySelectorAll('figure')]"
        ".every(one => one.closest('details:not([open])') || one.classList.contains('is-live'))"
    )


@pytest.mark.parametrize("view", WIDE, indirect=True, ids="-".join)
def test_axe_finds_nothing_serious(view: View) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(view.page).response["violations"]
    serious = {
        one["id"]: one["nodes"][0]["html"] for one in found if one["impact"] in ("serious", "critical")
    }
    assert serious == {}


def test_the_page_is_no_wider_than_the_window(view: View) -> None:
    assert view.page.evaluate("document.documentElement.scrollWidth") <= view.width


def test_pictures_are_left_for_people_to_look_at(view: View) -> None:
    beginnings = {".png": b"\x89PNG", ".pdf": b"%PDF"}
    for picture in view.pictures:
        assert picture.read_bytes().startswith(beginnings[picture.suffix])


def test_everything_that_can_be_used_is_reached_by_keyboard_and_shows_that_it_is(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(SITUATIONS["ordinary"](tmp_path)), encoding="utf-8")
    page = opened(browser, path)
    wanted = page.evaluate(
        """[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
        .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.closest('.card'))
        .map((one, index) => { one.dataset.wanted = index; return index; }).length"""
    )
    reached, unseen = set(), []
    for _ in range(2 * wanted + 50):
        page.keyboard.press("Tab")
        number, outline, html = page.evaluate(
            """() => { const one = document.activeElement, style = getComputedStyle(one);
            return [one.dataset.wanted, style.outlineStyle + style.outlineWidth, one.outerHTML]; }"""
        )
        if number is not None:
            reached.add(int(number))
            if outline.startswith("none") or outline.endswith("0px"):
                unseen.append(html)
        if len(reached) == wanted:
            break
    page.context.close()
    assert wanted > 40
    assert len(reached) == wanted
    assert unseen == []


def test_a_cell_of_the_heat_map_opens_by_keyboard_and_is_put_away_by_escape(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(SITUATIONS["ordinary"](tmp_path)), encoding="utf-8")
    page = opened(browser, path)
    page.locator("button.cell").first.focus()
    card = page.locator(".card").first
    assert card.is_visible()
    page.keyboard.press("Tab")  # to the link in the card
    assert page.evaluate("document.activeElement.closest('.card') !== null")
    page.keyboard.press("Escape")
    assert not card.is_visible()
    page.context.close()
