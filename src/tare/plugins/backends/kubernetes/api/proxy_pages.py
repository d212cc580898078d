"""Recognize an answer that is not the API server's, such as the login page of a proxy."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

from tare.core.visible_text import visible

_TITLE = re.compile(rb"<title[^>]{0,200}>([^<]{0,300})</title", re.IGNORECASE)
_MOST_READ, _MOST_SHOWN = 16_384, 100


def describe(status: int, content_type: str, location: str, content: bytes, *, is_json: bool) -> str:
    """Return a description of an answer that is not from an API server; empty where it may be.

    If `is_json`, `content` must be a JSON object; logs may be any text.
    """
    is_elsewhere = 300 <= status < 400
    is_odd = is_json and status < 300 and content.lstrip()[:1] != b"{"
    if not (is_page(content_type) or is_elsewhere or is_odd):
        return ""
    what = f"a redirection to {_host(location)}" if is_elsewhere else f"no JSON but {_title(content)}"
    return (
        f"what answers at the API server's address is not the API server: status {status}, {what}; "
        "is there a proxy in between that asks for a login?"
    )


def is_page(content_type: str) -> bool:
    """Return whether the content is a web page."""
    return content_type.partition(";")[0].strip().lower() == "text/html"


def _title(content: bytes) -> str:
    found = _TITLE.search(content[:_MOST_READ])
    text = html.unescape(found[1].decode(errors="replace")) if found else ""
    title = visible(" ".join(text.split())[:_MOST_SHOWN])
    return f"a page called {title!r}" if title else f"{len(content)} bytes of something else"


def _host(location: str) -> str:
    try:
        host = urlsplit(location).hostname
    except ValueError:
        host = None
    return visible(host[:_MOST_SHOWN]) if host else "another place"
