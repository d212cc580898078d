"""Limits of processes: counters as Linux 6.18 shows them, in version 1 and 2 of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tare.plugins.backends.kubernetes.diagnosis.control_groups import why_refused
from tare.plugins.backends.kubernetes.scheduling.job_result import printed_refusal


@pytest.mark.parametrize("place", ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"])
def test_a_pod_that_came_to_its_limit_of_processes_is_named_with_the_limit(place: str) -> None:
    before = {"w1": {f"{place}/pids.events": "max 2\n", f"{place}/pids.max": "64\n"}}
    after = {"w1": {f"{place}/pids.events": "max 5\n", f"{place}/pids.max": "64\n"}}
    message = why_refused(before, after)
    assert message.startswith(
        "the kernel refused processes or threads to the pod on w1 3 times: the container may have 64"
    )
    assert "podPidsLimit" in message


def test_a_limit_that_is_the_pods_is_not_reported_as_the_containers() -> None:
    after = {"w1": {"/sys/fs/cgroup/pids.events": "max 1\n", "/sys/fs/cgroup/pids.max": "max\n"}}
    assert "w1 once: the limit is the pod's, not the container's" in why_refused({}, after)


@pytest.mark.parametrize("text", ["", "max\n", "max -3\n", "max 99999999999999999999999999x\n", "\x00"])
def test_what_was_refused_before_or_cannot_be_read_is_no_reason(text: str) -> None:
    assert why_refused({}, {"w1": {"/sys/fs/cgroup/pids.events": text}}) == ""
    reported = {"w1": {"/sys/fs/cgroup/pids.events": "max 7\n"}}
    assert why_refused(reported, reported) == ""


@pytest.mark.parametrize(
    "line",
    [
        "bash: fork: retry: Resource temporarily unavailable",
        "sh: 1: Cannot fork",
        "libgomp: Thread creation failed: Resource temporarily unavailable",
    ],
)
def test_a_process_that_only_the_program_reports_is_shown_with_its_message(tmp_path: Path, line: str) -> None:
    """As on version 2 of control groups, where a container does not see the counter of its pod."""
    (tmp_path / "stderr").write_text(f"hello\n{line}\x1b[0m\nlater\n")
    message = printed_refusal(tmp_path, "stderr")
    assert message.startswith(line)
    assert "podPidsLimit" in message
    assert "\x1b" not in message


def test_other_messages_links_and_pipes_are_no_reason(tmp_path: Path) -> None:
    (tmp_path / "stderr").write_text("read: Resource temporarily unavailable\nfork in the road\n")
    assert printed_refusal(tmp_path, "stderr") == ""
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    assert [printed_refusal(tmp_path, name) for name in ("link", "pipe", "nothing")] == ["", "", ""]
