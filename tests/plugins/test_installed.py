"""The built-ins, through the entry points of the installed package itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tare.plugins import registry


@pytest.mark.parametrize("name", ["intelmpi", "mpich", "openmpi4", "openmpi5", "none"])
def test_built_in_launchers_are_installed(name: str) -> None:
    assert registry.launcher(name).name == name


def test_built_in_workloads_are_installed_and_sound() -> None:
    known = registry.workloads()
    assert "imb.pingpong" in known
    assert known.problems == ()
    for name, workload in known.items():
        assert workload.name == name
        assert workload.summary
        assert workload.foms
        assert any(fom.is_primary for fom in workload.foms)
        assert len({one.name for one in workload.parameters}) == len(workload.parameters)


def test_the_module_imports_no_workload_by_itself() -> None:
    script = "import sys, tare.plugins.registry; sys.exit('tare.plugins.workloads.imb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
