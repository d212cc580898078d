"""A setting has one presentation, with the unit that its workload declares, whatever it is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from support.synthetic import make_campaign, make_case
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.values import Scalar
from tare.core.workload import ParameterKind
from tare.report.variants import lay_out
from tare.report.words.numbers import NARROW, coordinate
from tare.report.words.scaling import settings_words

KINDS = {
    "cuda": {"block": ParameterKind.WHOLE},
    "fio": {"block": ParameterKind.BYTES, "size": ParameterKind.BYTES, "time_s": ParameterKind.SECONDS},
    "hpl": {"memory": ParameterKind.FRACTION, "order": ParameterKind.NUMBER},
}


@pytest.mark.parametrize(
    ("workload", "name", "value", "written", "shown"),
    [
        ("cuda", "block", 128, "128", "block 128"),
        ("fio", "block", 131072, "128KiB", f"block 128{NARROW}KiB"),
        ("fio", "size", 1 << 30, "1GiB", f"size 1{NARROW}GiB"),
        ("fio", "size", 1_500_000_000, "1500000000", f"size 1500000000{NARROW}B"),
        ("fio", "time_s", 10.0, "10 s", f"time 10{NARROW}s"),
        ("hpl", "memory", 0.8, "80 %", f"memory 80{NARROW}%"),
        ("hpl", "order", 2.0, "2", "order 2"),
    ],
)
def test_plan_and_report_report_the_same_value_with_its_unit(
    workload: str, name: str, value: Scalar, written: str, shown: str
) -> None:
    plan = Plan(study="s", site="here", cases=(), kinds=KINDS, varied=(name,))
    assert plan.written(name, value, workload) == written
    assert coordinate(name, value, plan.kinds_of(workload)) == shown
    assert settings_words({name: value}, plan.kinds_of(workload)) == shown
    assert (
        plan.describe(make_case(workload=workload, parameters={name: value}))
        == f"{workload} {name}={written}"
    )


def test_times_and_shares_are_written_with_their_units() -> None:
    plan = Plan(study="s", site="here", cases=(), kinds=KINDS)
    assert plan.written("time_s", 10.0, "fio") == "10 s"
    assert plan.written("memory", 0.8, "hpl") == "80 %"
    assert plan.written("size", 1_500_000_000, "fio") == "1500000000"


def test_a_plan_of_old_reports_its_sizes() -> None:
    plan = Plan(study="s", site="here", cases=(), sizes=("transfer",))
    assert plan.written("transfer", 65536) == "64KiB"
    assert plan.written("block", 128) == "128"


def test_where_workloads_disagree_no_unit_is_reported() -> None:
    plan = Plan(study="s", site="here", cases=(), kinds=KINDS)
    assert plan.written("block", 128) == "128"


def test_where_workloads_disagree_each_case_reports_its_own_unit() -> None:
    fio, cuda = (make_case(workload=name, parameters={"block": 128}) for name in ("fio", "cuda"))
    plan = Plan(study="s", site="here", cases=(fio, cuda), kinds=KINDS, varied=("workload", "block"))
    plan = msgspec.structs.replace(plan, kinds={**KINDS, "fio": {"block": ParameterKind.BYTES}})
    big = make_case(workload="fio", parameters={"block": 65536})
    assert plan.describe(big) == "fio block=64KiB"
    assert plan.describe(cuda) == "cuda block=128"


def test_thousands_of_cases_are_laid_out_in_one_pass() -> None:
    """Looks at settings are counted: each case is asked a few times, however many there are."""
    cases = [
        make_case(network, nodes=nodes, parameters={"size": size})
        for network in ("host", "overlay")
        for nodes in (2, 4)
        for size in range(50)
    ]
    campaign = make_campaign(cases[:2], blocks=2, sizes=(1,))
    plan = msgspec.structs.replace(
        campaign.plan, cases=tuple(cases), varied=("network", "nodes", "size"), notes=()
    )
    asked = Counter[str]()

    def settings(case: Case) -> dict[str, Scalar]:
        asked[case.id] += 1
        return read(case)

    read: Callable[[Case], dict[str, Scalar]] = vars(Case)["settings"].fget
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Case, "settings", property(settings))
        variants = lay_out(msgspec.structs.replace(campaign, plan=plan), ())
    assert len(variants.configurations) == 100
    assert max(asked.values()) < 20
