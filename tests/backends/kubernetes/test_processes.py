"""Limits of processes: counters as Linux 6.18 shows them, in version 1 and 2 of control groups."""

from __future__ import annotations

import pytest

from tare.backends.kubernetes.processes import why_refused


@pytest.mark.parametrize("place", ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"])
def test_a_pod_that_came_to_its_limit_of_processes_is_named_with_the_limit(place: str) -> None:
    before = {"w1": {f"{place}/pids.events": "max 2\n", f"{place}/pids.max": "64\n"}}
    after = {"w1": {f"{place}/pids.events": "max 5\n", f"{place}/pids.max": "64\n"}}
    said = why_refused(before, after)
    assert said.startswith(
        "the kernel refused processes or threads to the pod on w1 3 times: the container may have 64"
    )
    assert "podPidsLimit" in said


def test_a_limit_that_is_the_pods_is_not_told_as_the_containers() -> None:
    after = {"w1": {"/sys/fs/cgroup/pids.events": "max 1\n", "/sys/fs/cgroup/pids.max": "max\n"}}
    assert "w1 once: the limit is the pod's, not the container's" in why_refused({}, after)


@pytest.mark.parametrize("text", ["", "max\n", "max -3\n", "max 99999999999999999999999999x\n", "\x00"])
def test_what_was_refused_before_or_cannot_be_read_is_no_reason(text: str) -> None:
    assert why_refused({}, {"w1": {"/sys/fs/cgroup/pids.events": text}}) == ""
    told = {"w1": {"/sys/fs/cgroup/pids.events": "max 7\n"}}
    assert why_refused(told, told) == ""
