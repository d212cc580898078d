"""The folder of an attempt."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "attempts/case/1.1"
