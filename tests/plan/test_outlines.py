"""What makes a large study slow to plan is done once for cases that are alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tare
from tare.core.case import Case
from tare.core.workload import Stage
from tare.plugins.workloads.inline import InlineWorkload


def test_stages_that_depend_on_the_layout_are_made_once_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    stages = InlineWorkload.stages

    def count(self: InlineWorkload, case: Case) -> tuple[Stage, ...]:
        asked.append(case.layout.nodes)
        return stages(self, case)

    monkeypatch.setattr(InlineWorkload, "stages", count)
    figure = {"name": "elapsed", "unit": "s", "better": "lower", "regex": r"took (\S+) s"}
    program = {"command": ["solve", "{n}"], "mpi": True, "parameters": {"n": 1}, "foms": [figure]}
    plan = tare.plan_study(
        {
            "study": "many",
            "question": "What does it cost?",
            "site": "lab",
            "workloads": {"solve": program},
            "factors": {"workload": ["solve"], "nodes": [1, 2], "n": [*range(1, 51)]},
            "network": "host",
            "repeats": 3,
        }
    )
    assert len(plan) == 100
    assert set(asked) == {1, 2}
    assert len(asked) < 10  # some are asked for again where programs and inputs are looked for


def test_faults_that_depend_on_no_value_are_sought_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    faults = InlineWorkload.faults

    def count(self: InlineWorkload, case: Case) -> Iterator[str]:
        asked.append(case.layout.nodes)
        return faults(self, case)

    monkeypatch.setattr(InlineWorkload, "faults", count)
    figure = {"name": "elapsed", "unit": "s", "better": "lower", "regex": r"took (\S+) s"}
    program = {"command": ["solve", "{n}"], "mpi": True, "parameters": {"n": 1}, "foms": [figure]}
    study = {
        "study": "many",
        "site": "lab",
        "workloads": {"solve": program},
        "factors": {"workload": ["solve"], "nodes": [1, 2], "n": [*range(1, 51)]},
        "network": "host",
    }
    assert len(tare.plan_study(study)) == 100
    assert asked == [1, 2]
