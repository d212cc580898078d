"""What pods and clusters say of CPUs, whole or damaged: what cannot be read limits nothing."""

from __future__ import annotations

import pytest

from tare.plugins.backends.kubernetes.diagnosis.control_groups import cpu_limit, throttled_share
from tare.plugins.backends.kubernetes.diagnosis.nodes import milli_cpus

STAT, MAX = "/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu.max"
SET = "/sys/fs/cgroup/cpuset.cpus.effective"


def test_limits_and_throttling_are_read() -> None:
    assert cpu_limit({MAX: "150000 100000\n", SET: "0-3\n"}) == 1.5
    assert cpu_limit({SET: "0-3,8\n"}) == 5
    assert throttled_share({STAT: "throttled_usec 0\n"}, {STAT: "throttled_usec 500000\n"}, 1.0) == 0.5
    assert throttled_share({STAT: "throttled_time 0\n"}, {STAT: "throttled_time 500000000\n"}, 1.0) == 0.5


@pytest.mark.parametrize("text", ["100000 0", "x 100000", "² 100000", "9" * 5000 + " 1", "100000 ٣"])
def test_a_damaged_quota_is_none(text: str) -> None:
    assert cpu_limit({MAX: text}) is None


@pytest.mark.parametrize("text", ["x", "0-x", "²-³", "9" * 5000, "5-3"])
def test_a_damaged_set_of_cpus_is_none(text: str) -> None:
    assert cpu_limit({SET: text}) is None


@pytest.mark.parametrize("value", ["", "x", "1.5", "-1", "9" * 5000])
def test_damaged_throttling_is_unknown(value: str) -> None:
    files = {STAT: f"throttled_usec {value}\n"}
    assert throttled_share(files, files, 1.0) is None


@pytest.mark.parametrize(
    ("quantity", "milli"),
    [("250m", 250), ("2", 2000), ("1.5", 1500), ("1k", 1_000_000), ("100u", 0), ("2e1", 20_000)],
)
def test_cpus_are_read_in_every_unit_that_the_api_has(quantity: str, milli: int) -> None:
    assert milli_cpus(quantity) == milli


@pytest.mark.parametrize("quantity", ["", "m", "x", "nan", "inf", "1e999", "²"])
def test_what_is_no_quantity_of_cpus_is_no_neighbour(quantity: str) -> None:
    assert milli_cpus(quantity) == 0
