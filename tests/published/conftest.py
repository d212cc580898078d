"""What the articles' studies need of their surroundings to be planned."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _cluster_of_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name a folder as that of the cluster with real pods, as `python -m kubelab enter` does."""
    monkeypatch.setenv("KUBELAB", "/kubelab")
