"""docs/design.md names files that are there, and docs/glossary.md what the code has."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGN = (ROOT / "docs/design.md").read_text()
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
BELOW = (ROOT, *(ROOT / "src/tare" / one for one in ("", "plugins/workloads", "report")))
PLACES = sorted(set(re.findall(r"[`( ]([\w.-]+(?:/[\w.-]+)+\.(?:py|sh|html))\b", DESIGN)))
NAMES = sorted(set(re.findall(r"`([a-z_]+(?:\.\w+)+)`", GLOSSARY)))


def test_both_pages_name_places() -> None:
    assert len(PLACES) > 20
    assert len(NAMES) > 20


@pytest.mark.parametrize("place", PLACES)
def test_a_file_that_the_design_names_is_there(place: str) -> None:
    assert any((folder / place).is_file() for folder in BELOW)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_glossary_names_is_in_the_code(name: str) -> None:
    found: object = importlib.import_module("tare")
    for part in name.split("."):
        found = _inside(found, part)


def _inside(outer: object, part: str) -> object:
    """Return a module of a package, or a member of a module or class."""
    try:
        return importlib.import_module(f"{getattr(outer, '__name__', '')}.{part}")
    except ImportError:
        return getattr(outer, part)
