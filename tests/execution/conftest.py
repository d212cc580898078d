"""A pair of hosts whose counters a test writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from execution.transport_counters import Pair


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)
