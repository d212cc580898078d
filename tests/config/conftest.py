from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def published_studies() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "design" / "studies"
    if not folder.is_dir():
        pytest.skip("the design's example studies are not beside this checkout")
    return folder
