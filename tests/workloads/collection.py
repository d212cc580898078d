"""The collection of real output, which is not in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def text_of(name: str) -> str:
    """Return a file of the collection; skip the test where there is none."""
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    return (CORPUS / name).read_text(errors="replace")
