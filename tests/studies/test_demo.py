"""The demo asks of a machine what the machine can decide in a few minutes, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.app import planning
from tare.config import site_file
from tare.core.plan import Plan

DEMO = Path(__file__).parents[2] / "studies" / "demo.yaml"


def demo(monkeypatch: pytest.MonkeyPatch, n_cores: int) -> Plan:
    """Return the plan of the demo on a machine with so many cores."""
    monkeypatch.setattr(site_file, "_cores", lambda: n_cores)
    monkeypatch.setattr(site_file, "_cpus", lambda: tuple((cpu,) for cpu in range(n_cores)))
    return planning.load(DEMO).plan


@pytest.mark.parametrize("n_cores", [2, 3])
def test_no_case_has_more_ranks_than_the_machine_has_cores(
    monkeypatch: pytest.MonkeyPatch, n_cores: int
) -> None:
    plan = demo(monkeypatch, n_cores)
    assert {case.layout.nodes for case in plan.cases} == {2}
    assert len(plan.cases) == 9
    pairs, crowded = map(str, plan.left_out)
    assert pairs.startswith("3 cases with workload: imb.pingpong, nodes: 4: ")
    assert crowded == (
        "6 cases with ranks_per_node > slots: this machine has fewer cores than the case has ranks, which "
        "would measure how these take turns"
    )


@pytest.mark.parametrize("n_cores", [4, 16])
def test_a_machine_with_a_core_for_each_rank_runs_them_all(
    monkeypatch: pytest.MonkeyPatch, n_cores: int
) -> None:
    plan = demo(monkeypatch, n_cores)
    assert sorted({case.layout.nodes for case in plan.cases}) == [2, 4]
    assert len(plan.cases) == 15
    assert len(plan.left_out) == 1


def test_it_ends_in_time_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = demo(monkeypatch, 2)
    budget_s = (plan.repeats.budget.hours or 0) * 3600
    assert 0 < budget_s <= 390, "with a warm-up, a check of the site and a report in less than eight minutes"


def test_what_it_resolves_lies_within_its_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = demo(monkeypatch, 2)
    assert plan.repeats.until is not None
    assert plan.repeats.until <= plan.margin / 2, "else an interval around no difference is not within it"


def test_no_run_is_given_less_time_a_size_than_it_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """IMB's -time counts barriers, too: at 20 ms a size, tables of a busy machine end with `time-out`."""
    for case in demo(monkeypatch, 16).cases:
        assert float(case.parameters["time_s"]) >= 1
