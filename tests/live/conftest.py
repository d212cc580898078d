"""A server of its own for each test, on a free port of the loopback, read by a real client."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from support.contracts import require_contract
from support.waiting import until
from tare.live.access import Access
from tare.live.connections import Limits
from tare.live.server import Server, listen

Serve = Callable[..., httpx.Client]


@contextlib.contextmanager
def running(
    *folders: Path,
    access: Access | None = None,
    limits: Limits | None = None,
    redacted: tuple[str, ...] = (),
) -> Iterator[tuple[Server, str]]:
    """Run a server in a thread, for anybody unless `access` says otherwise; yield it and its address."""
    listener = listen("127.0.0.1", 0, is_for_anybody=True)
    port = listener.access.port
    if access is not None:
        listener = msgspec.structs.replace(listener, access=access)
    server = Server(folders, listener, limits, redacted)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield server, f"http://127.0.0.1:{port}"
    finally:
        server.end()
        thread.join(30)
        assert not thread.is_alive()


def _require_contract(response: httpx.Response) -> None:
    """Fail where an answer of the API breaks its contract."""
    if response.is_success and response.headers.get("content-type") == "application/json":
        require_contract(response.read().decode())


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve folders until the test ends; return a client of that server."""
    with contextlib.ExitStack() as stack:

        def serve(*folders: Path, access: Access | None = None) -> httpx.Client:
            _, url = stack.enter_context(running(*folders, access=access))
            hooks = {"response": [_require_contract]}
            return stack.enter_context(httpx.Client(base_url=url, timeout=60, event_hooks=hooks))

        yield serve
