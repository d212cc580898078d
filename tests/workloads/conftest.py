from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of real benchmark output, which is kept beside the project, not in it."""
    folder = Path(__file__).parents[3] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no collection of real benchmark output at {folder}")
    return folder
