"""What holds for all tests: some build clusters, and none is skipped for want of a lab."""

from __future__ import annotations

import re
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import click.testing
import pytest
from hypothesis import HealthCheck, settings

from support.contracts import require_contract

# How fast a machine is, is no property of what is tested.
settings.register_profile("tare", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tare")

_EXCUSE = re.compile(r"\b(apt(-get)? install|root)\b")
"""What a reason names that has nothing to do with the lab: a program of Debian, or rights."""

_HERE = Path(__file__).parent
_CLUSTERS = (
    *(_HERE / "backends").glob("*.py"),
    _HERE / "backends/openssh",
    *(_HERE / "cli/lab" / f"test_{name}.py" for name in ("container_runs", "ssh_runs")),
    *(_HERE / "cli/runs" / f"test_{name}.py" for name in ("clean", "crash", "jobs")),
    _HERE / "cli/batch/test_slurm_runs.py",
    *(_HERE / name for name in ("kubernetes_cluster", "kubernetes_pods", "lab", "runtimes", "telemetry")),
    _HERE / "collectors/test_packets.py",
    _HERE / "docs/test_tutorial.py",
    _HERE / "workloads/test_microbench_program.py",
)
"""Where tests, beside those marked 'lab', are marked 'cluster' (see pyproject.toml)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--require-lab", action="store_true", help="Fail where a test of the lab is skipped.")
    parser.addoption(
        "--real-pods", action="store_true", help="Run what takes minutes: real pods, and a thousand jobs."
    )


def pytest_configure() -> None:
    """Hear interrupts, and let what tests start hear them: what a shell starts behind itself ignores them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m chooses among them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("lab") or any(item.path.is_relative_to(place) for place in _CLUSTERS):
            item.add_marker("cluster")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    is_required = item.get_closest_marker("lab") is not None and item.config.getoption("--require-lab")
    if report.skipped and is_required and not _EXCUSE.search(_reason(report)):
        report.outcome = "failed"
        report.longrepr = f"skipped, though this machine can build a lab: {report.longrepr}"
    return report


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped, without the path of its file."""
    return str(report.longrepr[-1]) if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.fixture(autouse=True)
def _json_keeps_its_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validate all JSON that commands print when click's runner calls them."""
    invoke = click.testing.CliRunner.invoke

    def invoked(self: click.testing.CliRunner, *args: Any, **kwargs: Any) -> click.testing.Result:
        done = invoke(self, *args, **kwargs)
        require_contract(done.stdout)
        return done

    monkeypatch.setattr(click.testing.CliRunner, "invoke", invoked)
