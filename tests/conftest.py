"""What holds for all tests: on a machine that can build a lab, no test of it may be skipped."""

from __future__ import annotations

from collections.abc import Generator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--require-lab", action="store_true", help="Fail where a test of the lab is skipped.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    is_lab = item.get_closest_marker("lab") is not None
    if report.skipped and is_lab and item.config.getoption("--require-lab"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though this machine can build a lab: {report.longrepr}"
    return report
