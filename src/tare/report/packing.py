"""Compress the data that the page holds but does not show at first, so that the page can be mailed."""

from __future__ import annotations

import base64
import zlib

import msgspec

_LEVEL = 6
"""The zlib level. Level 9 takes twice as long and saves one percent."""


def pack(value: object) -> str:
    """Return `value` as base64 of JSON compressed with zlib (RFC 1950); the page's script unpacks it."""
    return base64.b64encode(zlib.compress(msgspec.json.encode(value), _LEVEL)).decode("ascii")
