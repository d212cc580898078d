"""`python -m kubelab kubectl`: it asks the cluster that it was given, and nobody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from kubelab import __main__ as kubelab
from kubelab import build
from kubelab.processes import KubelabError


def test_an_ended_cluster_of_pods_is_not_asked_on_the_network_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its addresses are those of other hosts there."""
    monkeypatch.setattr(build, "command", lambda name: [name])
    monkeypatch.setattr(os, "execvp", lambda *_: pytest.fail("kubectl was started"))
    (tmp_path / "inside.pid").write_text("0")
    done = CliRunner().invoke(kubelab.main, ["kubectl", str(tmp_path), "get", "nodes"])
    assert isinstance(done.exception, KubelabError)
    assert "no cluster with real nodes is up" in str(done.exception)
