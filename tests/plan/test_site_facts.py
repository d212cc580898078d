from __future__ import annotations

import pytest

from tare.core.case import Case
from tare.core.errors import FileFaults
from tare.core.site import Platform, Site
from tare.core.study import Study
from tare.core.values import Scalar
from tare.plan import make_plan
from tare.plugins.workloads.hpl import WORKLOADS

(HPL,) = WORKLOADS
GIB = 1 << 30


def planned(memory_bytes: int | None, **parameters: Scalar) -> Case:
    site = Site(name="here", nodes=("n1",), platforms={"bare": Platform()}, memory_bytes=memory_bytes)
    study = Study(name="s", common={"workload": "hpl", **parameters})
    (case,) = make_plan(study, site, {"hpl": HPL}).cases
    return case


def test_a_parameter_that_the_study_does_not_set_is_what_the_site_gives() -> None:
    case = planned(128 * GIB, memory=0.5)
    assert case.parameters["node_memory"] == 128 * GIB
    assert "92544 " in HPL.stages(case)[0].files["HPL.dat"], "64 GiB of doubles, in blocks of 192"


def test_the_study_has_the_last_word() -> None:
    assert planned(128 * GIB, node_memory=GIB).parameters["node_memory"] == GIB


def test_a_fact_that_is_not_needed_makes_no_other_case() -> None:
    assert planned(128 * GIB, n=2048) == planned(None, n=2048)


def test_a_missing_fact_is_a_fault_with_both_cures() -> None:
    with pytest.raises(FileFaults) as raised:
        planned(None)
    assert "set node_memory: 192GiB" in str(raised.value)
    assert "add memory: 192GiB to the site file" in str(raised.value)
