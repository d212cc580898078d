"""Times of which programs would drop the fraction are refused."""

from __future__ import annotations

import pytest

from tare.plugins import registry
from workloads.cases import case_of

NAMES = ("fio.randread", "hpcg", "iperf3", "netperf.tcp_stream", "qperf", "sockperf.ping_pong")


@pytest.mark.parametrize("name", NAMES)
def test_a_fraction_of_a_second_is_refused_with_its_cure(name: str) -> None:
    workload = registry.workloads(())[name]
    assert not any("time_s" in one for one in workload.faults(case_of(workload, time_s=20.0)))
    (fault,) = [one for one in workload.faults(case_of(workload, time_s=2.7)) if "time_s" in one]
    program = name.partition(".")[0].replace("hpcg", "HPCG")
    assert fault == f"time_s is 2.7 s, and {program} takes whole seconds; set time_s: 3 s"


def test_so_is_one_of_the_warm_up_of_iperf3() -> None:
    workload = registry.workloads(())["iperf3"]
    assert any("set omit_s: 1 s" in one for one in workload.faults(case_of(workload, omit_s=0.4)))
