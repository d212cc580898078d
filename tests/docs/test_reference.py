"""The reference is what the code says today."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_is_current() -> None:
    generated = runpy.run_path(str(DOCS / "generate.py"))["reference"]()
    assert (DOCS / "reference.md").read_text() == generated, "run: python docs/generate.py"
