"""Send requests to an API server; renew refused credentials, and reject answers of other servers."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from tare.core import log
from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError, UsageError
from tare.core.log import fields
from tare.plugins.backends.kubernetes.api import proxy_pages

if TYPE_CHECKING:
    import httpx2

_LOG = log.of("kubernetes")

MISSING_RIGHT = "apply deploy/kubernetes, or ask for a Role with that right"
"""The cure for a right that is missing."""
TIMEOUT_S = 30.0
_UNAUTHORIZED, _FORBIDDEN, _CONFLICT = 401, 403, 409
_NO_RIGHT = re.compile(r'User ".*?" cannot \w')
"""The message for a right that is missing (apiserver, endpoints/handlers/responsewriters/errors.go)."""
_TIMED_OUT, _TOO_MANY = 408, 429
_NEVER_SERVED = {501, 505}
_LONGEST_WAIT_S = 60  # that a Retry-After may ask for
_MOST_OLD = 8  # keep this many clients with refused credentials: watches may still read from them
_LOADS_RIGHTS_S = 60.0  # a newly started API server has not loaded the access rights yet


class Refusal(BackendError):
    """The API server refused a request. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_missing_right(self) -> bool:
        """Return whether Tare's own user lacks a right. A policy refuses objects with the same status."""
        return self.status == _FORBIDDEN and _NO_RIGHT.search(str(self)) is not None


class Outage(BackendError):
    """The API server did not answer, or could not; it may later. `status` is 0 without an answer.

    `retry_after_s` is after how many seconds it wants to be asked again, 0 where it does not say.
    """

    def __init__(self, message: str, status: int = 0, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class NotAnApiServer(Outage):
    """The credentials are no longer valid, or another server answers: the user must log in."""


class _Status(msgspec.Struct, frozen=True):
    message: str = ""
    reason: str = ""


class Connection:
    """Sends requests to one API server. Threads may share it.

    `connect` creates a client; it is called again when the credentials are refused. `token` names the
    credentials in messages.
    """

    def __init__(self, connect: Callable[[], httpx2.Client], token: str) -> None:
        self._connect = connect
        self._http = connect()
        self._token = token
        self._renewing = threading.Lock()
        self._old: list[httpx2.Client] = []
        self._is_proven = self._is_ending = False
        self._away_at: float | None = None
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self.has_answered = False

    @property
    def http(self) -> httpx2.Client:
        """Return the current client, for requests that this class has no method for."""
        return self._http

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        content: bytes | None = None,
        form: str = "application/json",
        *,
        is_json: bool = True,
    ) -> httpx2.Response:
        """Return the answer to a request with the body `content` of the media type `form`.

        Raises Refusal or Outage.
        """
        from tare.plugins.backends.kubernetes.api.reading import read_in_time

        headers = {} if content is None else {"Content-Type": form}

        def ask(http: httpx2.Client) -> httpx2.Response:
            sent = http.stream(method, path, params=dict(query), content=content, headers=headers)
            with sent as answer:
                return read_in_time(answer)

        http = self._http
        began = time.monotonic()
        with self._as_outage("the API server does not answer"):
            answer = ask(http)
            if answer.status_code == _UNAUTHORIZED:
                answer = ask(self._renew(http))
        _log_request(method, path, answer.status_code, began)
        if fault := self._fault(answer, is_json=is_json):
            raise fault
        self.has_answered = self._is_proven = True
        return answer

    @contextmanager
    def stream(
        self,
        path: str,
        query: Mapping[str, str],
        patience_s: float,
        cut: str = "the API server went away",
    ) -> Iterator[httpx2.Response | None]:
        """Yield an answer that is read in parts; None where Tare ends, or where it must be requested again.

        Raises Refusal or Outage; `cut` is the Outage's message if the answer breaks off.
        """
        import httpx2

        http = self._http
        patience = httpx2.Timeout(TIMEOUT_S, read=patience_s)
        with ExitStack() as stack:
            with self._as_outage(cut):
                answer = stack.enter_context(http.stream("GET", path, params=dict(query), timeout=patience))
                _log_request("GET", path, answer.status_code, None)
                self._sockets.add(answer.extensions["network_stream"].get_extra_info("socket"))
                may_be_new = self._is_proven or self._http is not http
                if answer.status_code == _UNAUTHORIZED:
                    self._renew(http)
                if self._is_ending or (answer.status_code == _UNAUTHORIZED and may_be_new):
                    yield None
                    return
                if answer.status_code >= 300 or proxy_pages.is_page(answer.headers.get("Content-Type", "")):
                    answer.read()
                if fault := self._fault(answer, is_json=False):
                    raise fault
            self._is_proven = True
            try:
                yield answer
            except httpx2.HTTPError as error:  # no other errors of the code that reads the answer
                self._away_at = time.monotonic()
                raise Outage(f"{cut}: {type(error).__name__} {error}") from error

    def upgrade_fault(self, http: httpx2.Client, answer: httpx2.Response, what: str) -> BackendError:
        """Return the error for a WebSocket that `http` was refused; the answer's text is not available."""
        status = answer.status_code
        text = f"the API server answered {status} to {what}"
        if status == _UNAUTHORIZED:
            self._renew(http)
            return Outage(f"{text}; its client has logged in again", status)
        is_loading = self._away_at is not None and time.monotonic() - self._away_at < _LOADS_RIGHTS_S
        if _may_pass(status) or (status == _FORBIDDEN and is_loading):
            return Outage(text, status, _retry_after_s(answer.headers.get("Retry-After", "")))
        return Refusal(status, text)

    def end_streams(self) -> None:
        """Close the connections of streams, so that their threads wake; close() alone does not wake them."""
        self._is_ending = True
        for one in list(self._sockets):
            with suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)  # not SSLSocket's, which another thread reads

    def close(self) -> None:
        """Close all connections, those of streams too."""
        self.end_streams()
        for one in (*self._old, self._http):
            with suppress(OSError):
                one.close()

    @contextmanager
    def _as_outage(self, what: str) -> Iterator[None]:
        """Raise errors of connections and credential plug-ins as Outage or NotAnApiServer."""
        import httpx2
        from lightkube.core.exceptions import ConfigError

        try:
            yield
        except httpx2.HTTPError as error:
            self._away_at = time.monotonic()
            raise Outage(f"{what}: {type(error).__name__} {error}") from error
        except (ConfigError, OSError, ValueError, KeyError) as error:
            raise NotAnApiServer(f"{self._token} cannot be had: {type(error).__name__} {error}") from error

    def _renew(self, refused: httpx2.Client) -> httpx2.Client:
        """Return a client with new credentials.

        Only one of the threads token requests were refused creates it.
        """
        with self._renewing:
            if self._http is refused:
                try:
                    self._http, self._is_proven = self._connect(), False
                except UsageError as error:  # the file is just being written, or a plug-in fails
                    raise NotAnApiServer(
                        f"{self._token} cannot be renewed: {error}", _UNAUTHORIZED
                    ) from error
                self._old.append(refused)  # other threads may still read from it
                for one in self._old[:-_MOST_OLD]:
                    one.close()
                del self._old[:-_MOST_OLD]
            return self._http

    def _fault(self, answer: httpx2.Response, *, is_json: bool) -> BackendError | None:
        """Return the fault of the answer, or of its sender or the credentials; None where there is none."""
        status, headers = answer.status_code, answer.headers
        if status == _UNAUTHORIZED:
            text = f"{self._token} has expired, or is not valid: the API server answered 401"
            return NotAnApiServer(f"{text}; log in again, such as with 'oc login'", status)
        about = headers.get("Content-Type", ""), headers.get("Location", "")
        content = answer.content if is_json or status >= 300 or proxy_pages.is_page(about[0]) else b""
        if page := proxy_pages.describe(status, *about, content, is_json=is_json):
            return NotAnApiServer(page, status)
        retry_after_s = _retry_after_s(headers.get("Retry-After", ""))
        return self._failure(status, content, retry_after_s) if status >= 400 else None

    def _failure(self, status: int, content: bytes, retry_after_s: float) -> BackendError:
        try:
            answer = decode_json(content, type=_Status)
        except NOT_JSON:
            answer = _Status(message=content[:200].decode(errors="replace"))
        message = answer.message
        text = f"the API server answered {status}: {' '.join(message.split())}"
        is_right = Refusal(status, text).is_missing_right  # and not a quota or a policy
        if is_right and self._away_at is not None and time.monotonic() - self._away_at < _LOADS_RIGHTS_S:
            return Outage(f"{text}, just after it did not answer", status)
        if is_right:
            text += f"; {MISSING_RIGHT}"
        if _may_pass(status):
            if status != _TOO_MANY:  # then it is there, and busy
                self._away_at = time.monotonic()
            return Outage(text, status, retry_after_s)
        if status == _CONFLICT and answer.reason == "Conflict":  # others changed it, such as a quota
            return Outage(text, status)
        return Refusal(status, text)


def _may_pass(status: int) -> bool:
    """Return whether a request may be answered later; proxies have codes of their own above 504."""
    return status in {_TIMED_OUT, _TOO_MANY} or (status >= 500 and status not in _NEVER_SERVED)


def _retry_after_s(text: str) -> float:
    """Return the seconds of a Retry-After (RFC 9110), as the API server sends it; 0 for a date, or none."""
    return float(min(int(text), _LONGEST_WAIT_S)) if text.isdecimal() and len(text) < 9 else 0.0


def _log_request(method: str, path: str, status: int, began: float | None) -> None:
    """Log a request; a stream has no duration, because its answer has no end."""
    ms = None if began is None else round((time.monotonic() - began) * 1e3)
    level = logging.DEBUG if method == "GET" else logging.INFO
    _LOG.log(level, "request", extra=fields(method=method, path=path, status=status, ms=ms))
