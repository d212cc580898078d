"""Compiled templates are kept in the user's cache, and a report does not depend on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.report.formats.templates import html_environment


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where compiled templates are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tare" / "templates"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """Return a user's template."""
    path = tmp_path / "own" / "template.html"
    path.parent.mkdir()
    path.write_text("{{ 1 + 1 }}")
    return path


def filled(template: Path) -> str:
    return html_environment(template.parent).get_template(template.name).render()


def test_a_kept_template_gives_the_same_page(cache: Path, template: Path) -> None:
    assert filled(template) == "2"
    assert len(list(cache.iterdir())) == 1
    assert filled(template) == "2"


@pytest.mark.parametrize("n_bytes", [0, 5, 40, 80])
def test_a_damaged_one_is_compiled_again(cache: Path, template: Path, n_bytes: int) -> None:
    filled(template)
    (kept,) = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:n_bytes])
    assert filled(template) == "2"


def test_a_changed_template_is_compiled_again(cache: Path, template: Path) -> None:
    filled(template)
    template.write_text("{{ 1 + 2 }}")
    assert filled(template) == "3"


def test_a_cache_that_cannot_be_written_is_no_fault(cache: Path, template: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file, and no folder")
    assert filled(template) == "2"
