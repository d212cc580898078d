"""Studies are planned and run as the tests of the commands do."""

from __future__ import annotations

import pytest

from cli.conftest import tare, tare_here

__all__ = ["tare", "tare_here"]


@pytest.fixture(autouse=True)
def _cluster_of_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name a folder as that of the cluster with real pods, as `python -m kubelab enter` does."""
    monkeypatch.setenv("KUBELAB", "/kubelab")
