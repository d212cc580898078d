"""Access control of the live server: host names, tokens, HTTP methods and security headers.

Tare has no login. A reader needs the token. This holds on a loopback address too, because every user of the
machine can reach it. The server works without a token only if the user asks for that.

A page of another site must not read campaigns through a user's browser. So the Host header is checked
against DNS rebinding, cookies are SameSite, and no other origin may frame, embed or fetch a page.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The Content-Security-Policy (CSP level 3): only the server's own files, and no inline script or style."""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_WEEK_S = 7 * 24 * 3600


class Access(msgspec.Struct, frozen=True):
    """Who may read from a server: everybody who has `token`, or everybody if `token` is None.

    `is_local` is true if the server listens on a loopback address only. `names` are the host names that
    requests may use for the server, besides IP addresses.
    """

    is_local: bool = True
    token: str | None = None
    names: frozenset[str] = frozenset()
    port: int = 0

    @property
    def cookie(self) -> str:
        """Return the cookie's name. It has the port in it, because all ports of a host share cookies."""
        return f"tare-{self.port}"

    @property
    def cookie_value(self) -> str:
        """Return the cookie's value: an HMAC that proves knowledge of the token, without the token itself."""
        return hmac.digest((self.token or "").encode(), b"tare cookie", hashlib.sha256).hex()

    def is_known_host(self, header: str) -> bool:
        """Return whether a Host header names this server; a name that DNS rebinding points at it does not."""
        name = _host_name(header)
        if name is None:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name == "localhost" or name in self.names
        return address.is_loopback or not self.is_local

    def admits(self, token: str) -> bool:
        """Return whether `token` is the right token; the comparison takes constant time."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())

    def admits_cookie(self, value: str) -> bool:
        """Return whether this server gave the cookie `value` to a reader who had the token."""
        return self.token is not None and hmac.compare_digest(value.encode(), self.cookie_value.encode())


class Guard:
    """ASGI middleware that refuses requests `access` does not allow, and sets headers on every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on to the application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no WebSocket is ever accepted

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        scope["is_admitted"] = refusal is None
        await (refusal or self.app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response that refuses a request, or None if the request is allowed."""
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1 or not self.access.is_known_host(hosts[0]):
            return _plain_text(
                421,
                "This server is not called that. Use the address that 'tare serve' printed, or its number.",
            )
        if scope["method"] not in ("GET", "HEAD"):
            return _plain_text(405, "Campaigns can only be read here.", {"allow": "GET, HEAD"})
        return None if self.access.token is None else self._authentication(scope)

    def _authentication(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.access.admits(credentials.strip()):
            return None
        query = QueryParams(scope["query_string"])
        if self.access.admits(query.get("token", "")):
            return self._set_cookie(scope, query)
        if self.access.admits_cookie(cookie_parser(headers.get("cookie", "")).get(self.access.cookie, "")):
            return None
        return _plain_text(
            401,
            "A token is needed: open the address that 'tare serve' printed, or send it as "
            "'Authorization: Bearer TOKEN'.",
            {"www-authenticate": "Bearer"},
        )

    def _set_cookie(self, scope: Scope, query: QueryParams) -> Response:
        """Set the cookie and redirect to the URL without the token.

        So the token stays in no history, bookmark or referrer.
        """
        rest = urlencode([(name, value) for name, value in query.multi_items() if name != "token"])
        raw: bytes = scope.get("raw_path") or b"/"
        path = "/" + raw.decode("latin-1").replace("\\", "%5C").lstrip("/")
        answer = _redirect(f"{path}?{rest}" if rest else path, Headers(scope=scope).get("sec-fetch-site", ""))
        answer.set_cookie(
            self.access.cookie, self.access.cookie_value, max_age=_WEEK_S, httponly=True, samesite="strict"
        )
        return answer


def _redirect(where: str, site: str) -> Response:
    """Return a response that leads the browser to `where`; `site` is its Sec-Fetch-Site (Fetch Metadata).

    Browsers do not send a strict cookie on a redirect that another origin, such as a file, started
    (RFC 6265bis, 5.2). They send it if a page of this server starts the redirect. So a cross-site request
    gets such a page.
    """
    if site != "cross-site":
        return RedirectResponse(where, 303)
    url = html.escape(where)
    return HTMLResponse(
        '<!doctype html><link rel="icon" href="data:,"><title>tare</title>'
        f'<meta http-equiv="refresh" content="0;url={url}">'
    )


def host_names(names: Iterable[str]) -> frozenset[str]:
    """Return `names` in the form in which they are compared: lower case, without the dot at the end."""
    return frozenset(name.lower().rstrip(".") for name in names if name)


def _host_name(header: str) -> str | None:
    """Return the host in a Host header without its port (RFC 9110, 7.2); None when it is malformed."""
    if header.startswith("["):
        name, bracket, port = header[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return None
        return name
    name, _, port = header.partition(":")
    if port and not port.isdigit():
        return None
    return name.lower().rstrip(".") or None


def _plain_text(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{text}\n", status, headers)
