"""Who may read: hosts, tokens, methods, headers."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from live.conftest import Serve
from support.synthetic import make_campaign, write_campaign
from tare.core.errors import InfrastructureError, UsageError
from tare.live.access import Access
from tare.live.app import make_app
from tare.live.server import listen, read_token
from tare.live.watch import Hub

TOKEN = "correct-horse-battery-staple"
LOCKED = Access(is_local=False, token=TOKEN, names=frozenset({"login1"}), port=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(make_campaign(blocks=3), tmp_path / "demo")


@pytest.mark.parametrize("path", ["/", "/c/demo", "/events", "/nothing"])
def test_nothing_but_reading_is_possible(serve: Serve, folder: Path, path: str) -> None:
    client = serve(folder)
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "SPAM"):
        answer = client.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD"


def test_head_reports_what_get_would(serve: Serve, folder: Path) -> None:
    client = serve(folder)
    for path in ("/", "/c/demo", "/events"):
        answer = client.head(path)
        assert answer.status_code == 200
        assert answer.content == b""


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "192.0.2.1", "", "localhost.evil", "[::1", "localhost:x"],
)
def test_a_name_that_was_bent_to_this_machine_is_refused(serve: Serve, folder: Path, host: str) -> None:
    answer = serve(folder).get("/c/demo", headers={"host": host})
    assert answer.status_code in (400, 421)
    assert "synthetic" not in answer.text


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8437", "127.0.0.1", "127.0.0.9:1", "[::1]:8437", "localhost."]
)
def test_names_of_this_machine_are_good(serve: Serve, folder: Path, host: str) -> None:
    assert serve(folder).get("/c/demo", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("hosts", [["localhost", "evil.example"], []])
def test_a_request_names_one_host(tmp_path: Path, hosts: list[str]) -> None:
    sent: list[MutableMapping[str, Any]] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", host.encode()) for host in hosts],
    }

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(make_app(Hub([tmp_path]), Access())(scope, receive, send))
    assert sent[0]["status"] == 421  # the server of these tests refuses such requests itself, others may not


def test_every_answer_carries_the_headers_that_hold_a_browser_back(serve: Serve, folder: Path) -> None:
    client = serve(folder)
    for path in ("/", "/c/demo", "/c/none", "/static/live.js", "/api/campaigns", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


@pytest.mark.parametrize(
    "path", ["/", "/c/demo", "/events", "/api/campaigns", "/static/style.css", "/nothing"]
)
def test_without_the_token_nothing_is_reported(serve: Serve, folder: Path, path: str) -> None:
    answer = serve(folder, access=LOCKED).get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["x", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ü"])
def test_a_wrong_token_opens_nothing(serve: Serve, folder: Path, token: str) -> None:
    client = serve(folder, access=LOCKED)
    assert client.get("/", params={"token": token}).status_code == 401
    bearer = f"Bearer {token}".encode()
    assert client.get("/", headers={b"authorization": bearer}).status_code == 401
    assert client.get("/", headers={b"cookie": f"{LOCKED.cookie}={token}".encode()}).status_code == 401


def test_the_token_may_come_as_a_header(serve: Serve, folder: Path) -> None:
    client = serve(folder, access=LOCKED)
    answer = client.get("/api/campaigns", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


def test_the_token_in_an_address_becomes_a_cookie_and_leaves_the_address(serve: Serve, folder: Path) -> None:
    client = serve(folder, access=LOCKED)
    answer = client.get("/c/demo", params={"token": TOKEN, "words": "a b"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/c/demo?words=a+b"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert client.get(answer.headers["location"]).status_code == 200


def test_the_way_on_never_leads_elsewhere(serve: Serve, folder: Path) -> None:
    client = serve(folder, access=LOCKED)
    for path in ("//evil.example/", "/\\evil.example/"):
        request = httpx.Request("GET", f"{client.base_url}", params={"token": TOKEN})
        request.url = request.url.copy_with(raw_path=f"{path}?token={TOKEN}".encode())
        location = client.send(request).headers["location"]
        assert location.startswith("/")
        assert location[1] not in "/\\"


def test_beyond_loopback_numbers_and_own_names_are_good(serve: Serve, folder: Path) -> None:
    client = serve(folder, access=LOCKED)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    for host, status in (("192.0.2.1", 200), ("login1:80", 200), ("evil.example", 421)):
        assert client.get("/", headers={"host": host, **bearer}).status_code == status


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_every_address_has_a_token_also_loopback_which_all_users_of_a_machine_reach(host: str) -> None:
    listener = listen(host, 0)
    with listener.socket:
        assert listener.access.token is not None
        assert len(listener.access.token) >= 32
        assert listener.url.endswith(f"/?token={listener.access.token}")


def test_on_loopback_alone_the_user_may_do_without_a_token(tmp_path: Path) -> None:
    listener = listen("127.0.0.1", 0, is_for_anybody=True)
    with listener.socket:
        assert listener.access.token is None
        assert listener.url == f"http://127.0.0.1:{listener.access.port}/"
    for host, file in (("0.0.0.0", None), ("127.0.0.1", tmp_path / "token")):
        with pytest.raises(UsageError, match="--no-token"):
            listen(host, 0, file, is_for_anybody=True)


def test_a_port_that_is_taken_is_reported_with_the_cure() -> None:
    first = listen("127.0.0.1", 0)
    with first.socket, pytest.raises(UsageError, match=r"is taken.*--port 0"):
        listen("127.0.0.1", first.access.port)


def test_a_host_that_is_none_is_reported() -> None:
    with pytest.raises(UsageError, match="--host"):
        listen("no.such.host.invalid", 0)


def test_a_token_file_is_made_for_its_owner_alone_and_used_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = read_token(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(token) >= 32
    assert read_token(path) == token
    listener = listen("127.0.0.1", 0, path)
    with listener.socket:
        assert listener.access.token == token


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full, full(4)")
def test_a_token_file_that_could_not_be_written_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened = tmp_path / "token", os.open

    def open_full(*given: Any) -> int:
        path.write_text("")
        return opened("/dev/full", os.O_WRONLY | os.O_CLOEXEC)

    monkeypatch.setattr(os, "open", open_full)
    with pytest.raises(InfrastructureError, match="token: cannot write: No space left on device"):
        read_token(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "mode"), [("short", 0o600), ("a" * 40, 0o644), ("with spaces in it all", 0o600)]
)
def test_a_token_file_that_keeps_no_secret_is_refused(tmp_path: Path, text: str, mode: int) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(UsageError, match="--token-file"):
        read_token(path)


def test_a_file_that_holds_no_token_is_let_alone_by_the_advice(tmp_path: Path) -> None:
    """Somebody named /etc/passwd, and was told to run chmod 600 on it."""
    path = tmp_path / "passwd"
    path.write_text("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n")
    path.chmod(0o644)
    with pytest.raises(UsageError) as caught:
        read_token(path)
    assert "not a token" in str(caught.value)
    assert "chmod" not in str(caught.value)
