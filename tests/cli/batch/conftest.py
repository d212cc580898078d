"""A Slurm of our own for the tests that submit to it; tests of other systems have theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.batch.batch_systems import SLURM, Administrator
from tare.lab import Lab


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with SLURM.lab(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture
def controller(shared_lab: Lab, tmp_path: Path) -> Iterator[Administrator]:
    """Slurm in a lab of our own that outlives the tare which uses it, idle before a test and after it."""
    with SLURM.administered(shared_lab, tmp_path) as administrator:
        yield administrator
