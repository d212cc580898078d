"""Jobs over a real ssh to an sshd of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backends.real_ssh import sshd
from tare.core.job import Exit, Job
from tare.core.launch import Invocation
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend

Run = Callable[..., Exit]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    with sshd(tmp_path_factory.mktemp("sshd")) as agent:
        yield agent


@pytest.fixture
def prefix() -> str:
    return str(new_session(f"test{time.monotonic_ns()}"))


@pytest.fixture
def backend(agent: tuple[str, ...], prefix: str) -> Iterator[ProcessBackend]:
    with ProcessBackend(label=prefix, agent=agent, hosts=["one", "two"]) as backend:
        yield backend


@pytest.fixture
def run(backend: ProcessBackend, prefix: str, tmp_path: Path) -> Run:
    folder = tmp_path / "work"
    folder.mkdir()

    def run(
        *argv: str, host: str = "one", timeout_s: float = 20, at: Path = folder, place: Path | None = None
    ) -> Exit:
        return backend.run(
            Job(
                label=f"{prefix}case/1.1;",
                invocation=Invocation(argv=argv, env={"GREETING": "a 'b'\n$c"}),
                host=host,
                folder=at,
                timeout_s=timeout_s,
                staging_folder=place,
                hosts=("one", "two"),
            )
        )

    return run
