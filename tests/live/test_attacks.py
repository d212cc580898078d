"""The live page under attack: by strangers who hold connections, and by other users of the same machine."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from cli.conftest import TARE
from live.conftest import running
from support.synthetic import make_campaign, write_campaign
from support.waiting import until
from tare.live.access import Access
from tare.live.connections import Limits, RateLimit
from tare.live.opening import opened

TOKEN = "correct-horse-battery-staple"
LOCKED = Access(token=TOKEN)
BEARER = {"authorization": f"Bearer {TOKEN}"}
LIMITS = Limits(total=20, a_client=20, request_s=0.5, slow_s=0.5)
WHOLE = f"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked") / "demo"
    campaign = write_campaign(make_campaign(blocks=2), folder)
    for attempt in make_campaign(blocks=2).attempts[:1]:
        (campaign / attempt.folder).mkdir(parents=True)
        (campaign / attempt.folder / "stdout").write_bytes(b"x" * 8_000_000)
    return campaign


@pytest.fixture
def page(folder: Path) -> Iterator[str]:
    with running(folder, access=LOCKED, limits=LIMITS) as (_, url):
        yield url


@contextlib.contextmanager
def connected(url: str, n: int, data: bytes = b"") -> Iterator[list[socket.socket]]:
    """Open `n` connections, and send `data` through each."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(n):
            one = stack.enter_context(socket.create_connection(_address(url), timeout=20))
            with contextlib.suppress(OSError):
                one.sendall(data)
            found.append(one)
        yield found


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 0


def ends(one: socket.socket, timeout_s: float = 5) -> bool:
    """Return whether the other side closes `one` before its time is over."""
    one.settimeout(timeout_s)
    try:
        while one.recv(1 << 20):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def is_answered_soon(url: str) -> bool:
    began = time.monotonic()
    answer = httpx.get(f"{url}/static/style.css", headers=BEARER, timeout=10)
    return answer.status_code == 200 and time.monotonic() - began < 3


@pytest.mark.parametrize(
    "data", [b"", b"GET / HTTP/1.1\r\nHost: local", WHOLE[:-2] + b"Content-Length: 9\r\n\r\n"]
)
def test_what_never_becomes_whole_ends_and_keeps_nobody_out(page: str, data: bytes) -> None:
    with connected(page, 60, data) as held:
        assert is_answered_soon(page)
        assert all(ends(one) for one in (held[0], held[-1]))


def test_a_header_that_never_ends_is_refused(page: str) -> None:
    with connected(page, 1, b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000) as (one,):
        assert ends(one)


def test_a_byte_now_and_then_does_not_hold_a_connection(page: str) -> None:
    with connected(page, 1) as (one,), contextlib.suppress(OSError):
        end = time.monotonic() + 5
        for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\n" * 10:
            one.sendall(bytes([byte]))
            time.sleep(0.05)
            assert time.monotonic() < end


def test_many_requests_in_one_piece_are_answered_one_by_one(page: str) -> None:
    n = 50
    with connected(page, 1, WHOLE * n) as (one,):
        data = b""
        one.settimeout(2)
        with contextlib.suppress(OSError):
            while piece := one.recv(1 << 20):
                data += piece
        assert data.count(b"HTTP/1.1 200") == n
        assert is_answered_soon(page)


def test_who_does_not_take_an_answer_loses_it(page: str, folder: Path) -> None:
    attempt = next(folder.glob("attempts/*/*"))
    path = f"/c/demo/run/{attempt.parent.name}/{attempt.name}/file/stdout"
    with connected(page, 1, WHOLE.replace(b"GET /", f"GET {path}".encode())) as (one,):
        assert one.recv(15) == b"HTTP/1.1 200 OK"
        time.sleep(2)
        size = 0
        with contextlib.suppress(OSError):
            while piece := one.recv(1 << 20):
                size += len(piece)
        assert size < 8_000_000


def test_streams_of_events_keep_nobody_out(page: str) -> None:
    with connected(page, 40, WHOLE.replace(b"GET /", b"GET /events")) as streams:
        assert streams[-1].recv(15) == b"HTTP/1.1 200 OK"
        assert is_answered_soon(page)
        assert ends(streams[0])  # the oldest made room; a browser connects again


def test_who_may_read_is_not_displaced_by_who_may_not(page: str) -> None:
    with connected(page, 1, WHOLE.replace(b"GET /", b"GET /events")) as (stream,):
        assert stream.recv(15) == b"HTTP/1.1 200 OK"
        with connected(page, 60):
            assert is_answered_soon(page)
        assert not ends(stream, 1)


def test_rubbish_fills_no_log() -> None:
    sparing = RateLimit(most=3)
    records = [logging.LogRecord("x", 30, "", 0, "Invalid HTTP request", (), None) for _ in range(100)]
    assert sum(map(sparing.filter, records)) == 3


@contextlib.contextmanager
def served(*options: str, folder: Path, **environment: str) -> Iterator[tuple[str, str]]:
    """Run `tare serve` as its users do; yield address and token."""
    process = subprocess.Popen(
        [TARE, "serve", str(folder), "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        base, _, token = url.partition("?token=")
        until(lambda: _is_up(base))
        yield base.rstrip("/"), token
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        assert process.stderr
        said = process.stderr.read()
        assert len(said) < 4000, said[:4000]
        assert "Traceback" not in said


def _is_up(base: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return bool(httpx.get(base, timeout=5).status_code)
    return False


def test_three_hundred_half_sent_requests_do_not_stop_the_owner_at_256_descriptors(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    process = subprocess.Popen(
        ["sh", "-c", f"ulimit -n 256; exec '{TARE}' serve '{folder}' --port 0 --json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 1024)), hard))
    try:
        assert process.stdout
        base, _, token = json.loads(process.stdout.readline())["url"].partition("?token=")
        until(lambda: _is_up(base))
        with connected(base, 300, b"GET / HTTP/1.1\r\nHost: localhost\r\n"):
            for _ in range(3):
                began = time.monotonic()
                answer = httpx.get(base, headers={"authorization": f"Bearer {token}"}, timeout=20)
                assert answer.status_code == 200
                assert time.monotonic() - began < 3
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(said) < 4000, said[:2000]


needs_others = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can act as another user (setpriv)"
)


def as_nobody(script: str) -> str:
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False, cwd="/").stdout


@needs_others
@pytest.mark.parametrize("command", ["serve", "metrics"])
def test_another_user_of_this_machine_reads_nothing(folder: Path, command: str) -> None:
    process = subprocess.Popen(
        [TARE, command, str(folder), "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        port = urlsplit(url).port
        until(lambda: _is_up(f"http://127.0.0.1:{port}/"))
        for path in ("/", "/c/demo", "/metrics", "/events"):
            said = as_nobody(
                f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n"
                "Connection: close\\r\\n\\r\\n' >&3; timeout 5 cat <&3"
            )
            assert said.startswith("HTTP/1.1 401"), (path, said)
            assert "demo" not in said
        assert httpx.get(url, follow_redirects=True).status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


@needs_others
def test_no_argument_of_any_process_holds_the_token(folder: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nexec >{tmp_path}/shown 2>&1\necho "$1"\nsleep 8\n')
    browser.chmod(0o755)
    with served("--open", folder=folder, BROWSER=f"{browser} %s &") as (base, token):
        until(lambda: (tmp_path / "shown").exists() and (tmp_path / "shown").read_text())
        arguments = as_nobody("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        assert str(browser) in arguments
        assert len(token) >= 32
        assert token not in arguments
        page = Path(urlsplit((tmp_path / "shown").read_text().strip()).path)
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        assert f"{base}/?token={token}" in page.read_text()
        assert as_nobody(f"cat {page}") == ""
    assert not page.exists()


def test_a_page_that_opens_is_gone_when_the_server_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    with opened("http://localhost:1/?token=a&b"):
        page = Path(urlsplit(shown[0]).path)
        assert "token=a&amp;b" in page.read_text()
    assert not page.exists()


def test_from_another_origin_the_token_leads_on_by_a_page_of_our_own(page: str) -> None:
    """A strict cookie is not sent along a redirect that another origin began (RFC 6265bis, 5.2)."""
    answer = httpx.get(f"{page}/?token={TOKEN}", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0;url=/"' in answer.text
    assert TOKEN not in answer.text
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    evil = httpx.get(f"{page}/?token={TOKEN}&x=%22%3E%3Cscript%3E", headers={"sec-fetch-site": "cross-site"})
    assert "<script>" not in evil.text
