"""The live page in a real browser, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from live.conftest import running
from live.test_why import stopped_after
from report.studies import hostile, three_networks
from support.profiled import BASE, as_recorded, profiled_campaign, with_more
from support.synthetic import write_campaign
from support.waiting import until
from tare.live.access import Access, Guard
from tare.live.opening import opened
from tare.storage.campaign import JOURNAL
from tare.storage.journal import AttemptBegan, AttemptEnded, BlockBegan, Journal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from starlette.types import Receive, Scope, Send

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHOTS = Path(__file__).parents[2] / "artefacts"
WAIT_MS = 60_000
SIZES = {"wide": (1280, 900), "narrow": (360, 800)}

pytest.importorskip("playwright", reason="playwright is not installed: pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open an empty page; fail when anything was said on its console, or thrown in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    # A page outlives its server, and tries to reach it again.
    assert [text for text in said if "ERR_CONNECTION_REFUSED" not in text] == []


def half(folder: Path) -> list[AttemptEnded]:
    """Write a campaign of four blocks that is in the midst of its third; return what is to end next."""
    whole = three_networks(blocks=4)
    done = msgspec.structs.replace(
        whole,
        attempts=whole.attempts[:14],
        orders={block: order for block, order in whole.orders.items() if block < 4},
    )
    write_campaign(done, folder)
    return [AttemptEnded(one) for one in whole.attempts[14:]]


def test_the_matrix_fills_without_a_reload_and_keeps_the_reader_where_he_was(
    tmp_path: Path, page: Page
) -> None:
    from playwright.sync_api import expect

    rest = half(tmp_path / "demo")
    with running(tmp_path) as (_, url), Journal(tmp_path / "demo" / JOURNAL) as journal:
        page.goto(f"{url}/c/demo")
        page.evaluate("window.isTheSamePage = true")
        page.wait_for_selector(".link.is-up")
        page.locator(".matrix td").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        assert "block 2: done" in page.inner_text("#readout")
        for ended in rest[:3]:
            one = ended.attempt
            row = f"tr[data-case='{one.case}'] td:nth-child({one.block + 1})"
            journal.append(AttemptBegan(one.case, one.block, 1, 1e9))
            page.wait_for_selector(f"{row}.r")
            journal.append(ended)
            page.wait_for_selector(f"{row}.d")
        expect(page.locator("#status")).to_contain_text("17 of 24 runs done", timeout=WAIT_MS)
        expect(page.locator("#chart")).to_contain_text("17 runs", timeout=WAIT_MS)
        journal.append(BlockBegan(5, [one.attempt.case for one in rest[:1]]))
        page.wait_for_selector(".matrix th[data-block='5']")
        assert page.evaluate("window.isTheSamePage")
        assert "block 2: done" in str(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        page.keyboard.press("Enter")
        page.wait_for_url("**/run/**/2.1")


def test_the_output_of_a_run_grows_as_it_is_written(tmp_path: Path, page: Page) -> None:
    from playwright.sync_api import expect

    one = half(tmp_path / "demo")[0].attempt
    evidence = tmp_path / "demo" / one.folder
    evidence.mkdir(parents=True)
    (evidence / "stdout").write_text("first\n")
    with running(tmp_path) as (_, url), Journal(tmp_path / "demo" / JOURNAL) as journal:
        journal.append(AttemptBegan(one.case, one.block, 1, 1e9))
        page.goto(f"{url}/c/demo/run/{one.case}/{one.block}.1")
        with (evidence / "stdout").open("a") as file:
            file.write("\x1b[31m<b>second</b>\x1b[0m\n")
        expect(page.locator("pre.log")).to_have_text("first\n<b>second</b>\n", timeout=WAIT_MS)
        (evidence / "stderr").write_text("a warning\n")
        journal.append(AttemptEnded(one))
        expect(page.locator("#facts")).to_contain_text("done", timeout=WAIT_MS)
        expect(page.locator("pre.log")).to_have_count(2, timeout=WAIT_MS)


def test_why_appears_without_a_reload_when_enough_profiled_runs_have_ended(
    tmp_path: Path, page: Page
) -> None:
    from playwright.sync_api import expect

    whole = stopped_after(tmp_path / "demo", 2)
    with running(tmp_path) as (_, url), Journal(tmp_path / "demo" / JOURNAL) as journal:
        page.goto(f"{url}/c/demo")
        page.evaluate("window.isTheSamePage = true")
        page.wait_for_selector(".link.is-up")
        assert "Not enough profiled runs yet: overlay" in page.inner_text("#why")
        for block in (3, 4):
            journal.append(BlockBegan(block, whole.orders[block]))
            for one in whole.attempts:
                if one.block == block:
                    journal.append(AttemptEnded(one))
        expect(page.locator("#why")).to_contain_text("of that is MPI_Alltoall", timeout=WAIT_MS)
        expect(page.locator("#why")).to_contain_text("interim results")
        assert "Not enough" not in page.inner_text("#why")
        assert page.evaluate("window.isTheSamePage")


def test_a_hostile_campaign_states_nothing_on_the_console(tmp_path: Path, page: Page) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    campaign = hostile(folder)
    write_campaign(campaign, folder)
    one = campaign.attempts[0]
    with running(tmp_path) as (_, url):
        for path in (
            "/",
            "/c/hostile",
            f"/c/hostile/run/{one.case}/1.1",
            "/compare?c=hostile",
            "/c/hostile/report/",
        ):
            page.goto(f"{url}{path}")
            page.wait_for_timeout(300)
            assert page.evaluate("document.querySelectorAll('img[src=x]').length") == 0


def test_a_page_that_leads_on_asks_for_no_icon(
    tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `serve --open` does: a file leads to the server with the token, and the server on to its page."""
    shown: list[str] = []
    asked: list[str] = []
    answer = Guard.__call__

    async def listening(guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope.get("path", ""))  # the browser tells nobody but the server that it asks for icons
        await answer(guard, scope, receive, send)

    monkeypatch.setattr(Guard, "__call__", listening)
    monkeypatch.setattr("webbrowser.open", shown.append)
    half(tmp_path / "demo")
    access = Access(token="t" * 32)
    with running(tmp_path, access=access) as (_, url), opened(f"{url}/?token={access.token}"):
        page.goto(shown[0])
        page.wait_for_selector(".link.is-up", timeout=WAIT_MS)
        assert page.url == f"{url}/"
        until(lambda: "/static/icon.svg" in asked)
    assert "/favicon.ico" not in asked


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_good_for_every_reader(browser: Browser, tmp_path: Path, theme: str, size: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    width, height = SIZES[size]
    context = browser.new_context(
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
    )
    page = context.new_page()
    rest = half(tmp_path / "demo")
    write_campaign(three_networks(blocks=5, noise=0.02), tmp_path / "other")
    as_recorded(profiled_campaign(tmp_path / "profiled", BASE, with_more(BASE, ("MPI_Alltoall", 4096), 4.0)))
    one = rest[0].attempt
    evidence = tmp_path / "demo" / one.folder
    evidence.mkdir(parents=True)
    (evidence / "stdout").write_text("".join(f"{2**n:8d} bytes  {n * 1.5:8.2f} us\n" for n in range(22)))
    SHOTS.mkdir(exist_ok=True)
    paths = {
        "overview": "/",
        "campaign": "/c/demo",
        "why": "/c/profiled",
        "run": f"/c/demo/run/{one.case}/{one.block}.1",
        "compare": "/compare?c=demo&c=other",
    }
    with running(tmp_path) as (_, url), Journal(tmp_path / "demo" / JOURNAL) as journal:
        journal.append(AttemptBegan(one.case, one.block, 1, 1e9))
        for name, path in paths.items():
            page.goto(f"{url}{path}")
            page.wait_for_selector(".link.is-up")
            page.screenshot(path=SHOTS / f"serve-{name}-{theme}-{size}.png", full_page=True)
            overflow = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow <= 0, f"{name} is wider than the screen"
            found = Axe().run(page).response["violations"]
            grave = [one for one in found if one["impact"] in ("serious", "critical")]
            assert grave == [], [
                (one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"]) for one in grave
            ]
    context.close()


def test_a_phone_shows_each_change_with_its_verdict_without_scrolling_sideways(
    browser: Browser, tmp_path: Path
) -> None:
    half(tmp_path / "demo")
    page = browser.new_page(viewport={"width": 360, "height": 800})
    with running(tmp_path) as (_, url):
        page.goto(f"{url}/c/demo")
        page.wait_for_selector(".link.is-up")
        cells = [one for one in page.locator(".changes tbody td").all() if one.is_visible()]
        boxes = [one.bounding_box() for one in cells]
        page.close()
    assert boxes
    assert all(box is not None and box["x"] + box["width"] <= 360 for box in boxes)
