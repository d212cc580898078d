"""The connection to an API server: who we are there, renewed when that is refused, and what no answer is."""

from __future__ import annotations

import logging
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from tare.core import log
from tare.core.errors import NOT_JSON, BackendError, UsageError
from tare.core.log import fields
from tare.plugins.backends.kubernetes import proxy_pages

if TYPE_CHECKING:
    import httpx2

_LOG = log.of("kubernetes")

TIMEOUT_S = 30.0
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_MAY_PASS = {429, 500, 502, 503, 504}
_MOST_OLD = 8  # clients with credentials that were refused, which watches may still read from
_LOADS_RIGHTS_S = 60.0  # an API server that has just started knows of no rights yet


class Refusal(BackendError):
    """The API server answered, and said no. `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Outage(BackendError):
    """The API server did not answer, or was not able to; it may later. `status` is 0 without an answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class NotAnApiServer(Outage):
    """The API server does not know us any more, or another one answers in its place: somebody must log in."""


class _Status(msgspec.Struct, frozen=True):
    message: str = ""


class Connection:
    """Asks one API server. Threads may share it.

    `connect` makes a client, and a new one when the token is refused, which messages call `whose`.
    """

    def __init__(self, connect: Callable[[], httpx2.Client], whose: str) -> None:
        self._connect = connect
        self._http = connect()
        self._whose = whose
        self._renewing = threading.Lock()
        self._old: list[httpx2.Client] = []
        self._is_proven = self._is_ending = False
        self._away_at: float | None = None
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self.has_answered = False

    @property
    def http(self) -> httpx2.Client:
        """Return the client of now, for what is no plain request."""
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
        """Return the answer to a request, `content` in the `form` of JSON. Raises Refusal or Outage."""
        headers = {} if content is None else {"Content-Type": form}

        def ask(http: httpx2.Client) -> httpx2.Response:
            return http.request(method, path, params=dict(query), content=content, headers=headers)

        http = self._http
        began = time.monotonic()
        with self._told("the API server does not answer"):
            answer = ask(http)
            if answer.status_code == _UNAUTHORIZED:
                answer = ask(self._renew(http))
        _tell_request(method, path, answer.status_code, began)
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
        """Yield an answer that comes bit by bit; None where Tare ends, or where it is to be asked for again.

        Raises Refusal or Outage, which says that it was `cut`.
        """
        import httpx2

        http = self._http
        patience = httpx2.Timeout(TIMEOUT_S, read=patience_s)
        with ExitStack() as stack:
            with self._told(cut):
                answer = stack.enter_context(http.stream("GET", path, params=dict(query), timeout=patience))
                _tell_request("GET", path, answer.status_code, None)
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
            except httpx2.HTTPError as error:  # and not what else goes wrong where the answer is read
                self._away_at = time.monotonic()
                raise Outage(f"{cut}: {type(error).__name__} {error}") from error

    def upgrade_fault(self, http: httpx2.Client, status: int, what: str) -> BackendError:
        """Return what it means that `http` was refused a WebSocket; its answer's words are not to be had."""
        said = f"the API server says {status} to {what}"
        if status == _UNAUTHORIZED:
            self._renew(http)
            return Outage(f"{said}; its client has logged in again", status)
        is_loading = self._away_at is not None and time.monotonic() - self._away_at < _LOADS_RIGHTS_S
        if status in _MAY_PASS or (status == _FORBIDDEN and is_loading):
            return Outage(said, status)
        return Refusal(status, said)

    def end_streams(self) -> None:
        """End the connections of streams: their threads wake, which closing alone would not make them."""
        self._is_ending = True
        for one in list(self._sockets):
            with suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)  # not SSLSocket's, which another thread reads

    def close(self) -> None:
        """End all connections, streams too."""
        self.end_streams()
        for one in (*self._old, self._http):
            with suppress(OSError):
                one.close()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Raise what connections and plug-ins for credentials raise as an Outage, or as a Stranger."""
        import httpx2
        from lightkube.core.exceptions import ConfigError

        try:
            yield
        except httpx2.HTTPError as error:
            self._away_at = time.monotonic()
            raise Outage(f"{what}: {type(error).__name__} {error}") from error
        except (ConfigError, OSError, ValueError, KeyError) as error:
            raise NotAnApiServer(f"{self._whose} cannot be had: {type(error).__name__} {error}") from error

    def _renew(self, refused: httpx2.Client) -> httpx2.Client:
        """Return a client with the credentials of now, once for all threads whose requests were refused."""
        with self._renewing:
            if self._http is refused:
                try:
                    self._http, self._is_proven = self._connect(), False
                except UsageError as error:  # a file that is just being written, or a plug-in that fails
                    raise NotAnApiServer(
                        f"{self._whose} cannot be renewed: {error}", _UNAUTHORIZED
                    ) from error
                self._old.append(refused)  # others may be reading of it
                for one in self._old[:-_MOST_OLD]:
                    one.close()
                del self._old[:-_MOST_OLD]
            return self._http

    def _fault(self, answer: httpx2.Response, *, is_json: bool) -> BackendError | None:
        """Return what is wrong with the answer, with who answers, or with who asks; None where nothing is."""
        status, headers = answer.status_code, answer.headers
        if status == _UNAUTHORIZED:
            said = f"{self._whose} has expired, or is not valid: the API server says 401"
            return NotAnApiServer(f"{said}; log in again, such as with 'oc login'", status)
        about = headers.get("Content-Type", ""), headers.get("Location", "")
        content = answer.content if is_json or status >= 300 or proxy_pages.is_page(about[0]) else b""
        if page := proxy_pages.told(status, *about, content, is_json=is_json):
            return NotAnApiServer(page, status)
        return self._failure(status, content) if status >= 400 else None

    def _failure(self, status: int, content: bytes) -> BackendError:
        try:
            message = msgspec.json.decode(content, type=_Status).message
        except NOT_JSON:
            message = content[:200].decode(errors="replace")
        said = f"the API server says {status}: {' '.join(message.split())}"
        is_right = status == _FORBIDDEN and " cannot " in message  # and not a quota
        if is_right and self._away_at is not None and time.monotonic() - self._away_at < _LOADS_RIGHTS_S:
            return Outage(f"{said}, just after it did not answer", status)
        if is_right:
            said += "; apply deploy/kubernetes, or ask for a Role with that right"
        if status in _MAY_PASS:
            self._away_at = time.monotonic()
            return Outage(said, status)
        return Refusal(status, said)


def _tell_request(method: str, path: str, status: int, began: float | None) -> None:
    """Log a request; the answer of a stream has no end that would be timed."""
    ms = None if began is None else round((time.monotonic() - began) * 1e3)
    level = logging.DEBUG if method == "GET" else logging.INFO
    _LOG.log(level, "request", extra=fields(method=method, path=path, status=status, ms=ms))
