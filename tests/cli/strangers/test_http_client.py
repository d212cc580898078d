"""Servers that want to know who asks, and that send others on; what they are told is never printed."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tare.app.http_client import Server
from tare.core.errors import UsageError

SECRET = "p4ss w:rd"


@contextmanager
def _served(wanted: str = "", redirect: str = "") -> Iterator[tuple[str, list[str]]]:
    """Stand for a server that wants an authorization, or sends on; yield its address and what it was told."""
    told: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.append(self.headers.get("Authorization", ""))
            code = 302 if redirect else 200 if told[-1] == wanted else 401
            self.send_response(code)
            if redirect:
                self.send_header("Location", redirect)
            self.end_headers()
            self.wfile.write(b"{}" if code == 200 else b"<html>no</html>")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as the base class names it
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}", told
        finally:
            server.shutdown()
            thread.join()


def test_user_and_password_of_an_address_are_sent_to_the_server_alone() -> None:
    wanted = "Basic " + base64.b64encode(f"ada:{SECRET}".encode()).decode()
    with _served(wanted) as (address, _):
        server = Server(f"http://ada:p4ss%20w%3Ard@{address}", None)
        assert server.base == f"http://{address}"
        assert server.get(f"{server.base}/api") == b"{}"


def test_a_token_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    with _served("Bearer t0ken") as (address, _):
        assert Server(f"http://{address}", tmp_path / "token").get(f"http://{address}/api") == b"{}"


def test_who_is_sent_on_takes_no_secret_along(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    with _served() as (elsewhere, told), _served(redirect=f"http://{elsewhere}/") as (address, _):
        Server(f"http://{address}", tmp_path / "token").get(f"http://{address}/api")
    assert told == [""]


def _ask(address: str) -> None:
    server = Server(address, None)
    server.get(server.base)


@pytest.mark.parametrize(
    "address", ["http://ada:p4ss@{}", "http://ada:p4ss@127.0.0.1:1", "http://ada:p4ss@[::1"]
)
def test_no_message_contains_a_password(address: str) -> None:
    with _served("Bearer other") as (served, _), pytest.raises(UsageError) as refused:
        _ask(address.format(served))
    assert "p4ss" not in str(refused.value)


def test_who_is_not_let_in_learns_how() -> None:
    with _served("Bearer other") as (address, _), pytest.raises(UsageError, match=r"HTTP 401 .*--token-file"):
        Server(f"http://{address}", None).get(f"http://{address}")


def test_a_token_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--token-file"):
        Server("http://p", tmp_path / "none")
