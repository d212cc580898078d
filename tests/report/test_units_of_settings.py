"""A setting has one presentation, with the unit that its workload declares, whatever it is called."""

from __future__ import annotations

import pytest

from tare.model.plan import Plan
from tare.model.values import Scalar
from tare.model.workload import ParameterKind
from tare.report.words.numbers import NARROW, coordinate

KINDS = {
    "cuda": {"block": ParameterKind.WHOLE},
    "fio": {"block": ParameterKind.BYTES, "size": ParameterKind.BYTES, "time_s": ParameterKind.SECONDS},
    "hpl": {"memory": ParameterKind.FRACTION},
}


@pytest.mark.parametrize(
    ("workload", "name", "value", "written", "shown"),
    [
        ("cuda", "block", 128, "128", "block 128"),
        ("fio", "block", 131072, "128KiB", f"block 128{NARROW}KiB"),
        ("fio", "size", 1 << 30, "1GiB", f"size 1{NARROW}GiB"),
    ],
)
def test_plan_and_report_tell_the_same_value_with_its_unit(
    workload: str, name: str, value: Scalar, written: str, shown: str
) -> None:
    plan = Plan(study="s", site="here", cases=(), kinds=KINDS)
    assert plan.written(name, value, workload) == written
    is_size = plan.kind(name, workload) is ParameterKind.BYTES
    assert coordinate(name, value, is_size=is_size) == shown


def test_times_and_shares_are_written_with_their_units() -> None:
    plan = Plan(study="s", site="here", cases=(), kinds=KINDS)
    assert plan.written("time_s", 10.0, "fio") == "10 s"
    assert plan.written("memory", 0.8, "hpl") == "80 %"
    assert plan.written("size", 1_500_000_000, "fio") == "1500000000"


def test_a_plan_of_old_tells_its_sizes() -> None:
    plan = Plan(study="s", site="here", cases=(), sizes=("transfer",))
    assert plan.written("transfer", 65536) == "64KiB"
    assert plan.written("block", 128) == "128"


def test_where_workloads_disagree_no_unit_is_told() -> None:
    plan = Plan(study="s", site="here", cases=(), kinds=KINDS)
    assert plan.written("block", 128) == "128"
