"""What hides in a container, in a session of its own and without a mark, ends with its job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtimes.conftest import Subject
from tare.plugins.backends.process.orphans import command_of


@pytest.fixture
def seconds() -> str:
    """For how long what hides sleeps: nothing else does for as long."""
    return f"300.{time.monotonic_ns() % 10**9}"


def sleepers(seconds: str) -> Iterator[int]:
    for one in Path("/proc").iterdir():
        if one.name.isdigit() and command_of(int(one.name)).endswith(f"sleep {seconds}"):
            yield int(one.name)


@pytest.mark.parametrize("end", ["echo value: 1", "exit 3", "kill -9 $$", "sleep 60"])
def test_what_hides_in_a_container_ends_with_its_job(subject: Subject, seconds: str, end: str) -> None:
    hide = f"env -i setsid /bin/sleep {seconds} >/dev/null 2>&1 & setsid sleep {seconds} >/dev/null 2>&1 &"
    ended = subject.run("/bin/sh", "-c", f"{hide} sleep 0.3; {end}", timeout_s=5 if end == "sleep 60" else 60)
    assert ended.is_timeout == (end == "sleep 60")
    deadline = time.monotonic() + 10  # docker's client does not wait for its daemon to have ended all
    while list(sleepers(seconds)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(sleepers(seconds)) == []
    assert ended.survivors == ()
