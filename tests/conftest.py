"""What holds for all tests: on a machine that can build a lab, none may be skipped for want of one."""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest

_EXCUSE = re.compile(r"\b(apt(-get)? install|root)\b")
"""What a reason names that has nothing to do with the lab: a program of Debian, or rights."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--require-lab", action="store_true", help="Fail where a test of the lab is skipped.")
    parser.addoption(
        "--real-pods", action="store_true", help="Run tests/kubernetes_pods, which take minutes."
    )


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
