"""The page in a real browser, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from report.html_reader import Page
from report.studies import HOSTILE, hostile, page_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--virtual-time-budget=20000", "--enable-logging=stderr", "--v=0"),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    folder = tmp_path_factory.mktemp("browser")
    path = folder / "index.html"
    path.write_text(page_of(hostile(folder)), encoding="utf-8")
    return load(path, folder)


def load(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    return subprocess.run(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_page_of_hostile_strings_loads_without_a_word_on_the_console(
    loaded: subprocess.CompletedProcess[str],
) -> None:
    said = [line for line in loaded.stderr.splitlines() if "CONSOLE" in line]
    assert loaded.returncode == 0
    assert said == []  # a script that ran, or was refused, would say so here


def test_every_chart_is_drawn(loaded: subprocess.CompletedProcess[str]) -> None:
    page = Page(loaded.stdout)
    assert page.all("figure")
    assert all("is-live" in figure.classes for figure in page.all("figure"))
    assert all(re.search(r"[\d.]+", panel.text) for panel in page.all("div", "panel"))


def test_hostile_names_in_charts_are_text(loaded: subprocess.CompletedProcess[str]) -> None:
    page = Page(loaded.stdout)
    assert any("alert(1)" in panel.text for panel in page.all("div", "panel"))
    assert not any("onerror" in element.attributes for element in page.elements)
    assert HOSTILE.split("<")[0] == ""  # what must not have ended a script does begin with its end


def test_the_page_takes_over_once_its_script_runs(loaded: subprocess.CompletedProcess[str]) -> None:
    page = Page(loaded.stdout)
    assert [found.text for found in page.all("output")] == ["10 of 10 shown", "13 of 13 shown"]
    assert page.all("button", "opener")
    assert all("hidden" not in form.attributes for form in page.all("form", "filter"))
