"""Unpack gzip files (RFC 1952) that another person or program may have written, within limits."""

from __future__ import annotations

import zlib

_GZIP = 31
"""The format gzip with the largest window, as an argument of zlib."""


def unpack(data: bytes, most: int) -> bytes:
    """Return the content of all members in `data`, or its first `most` bytes if there are more.

    Zeros behind a member are padding, as of a file whose length was written before its data. Python's own
    gzip reads padding byte by byte: 300 MB of it took a minute. Raises zlib.error if `data` is damaged.
    """
    parts, n_bytes = list[bytes](), 0
    while data and n_bytes < most:
        unpacking = zlib.decompressobj(_GZIP)
        parts.append(unpacking.decompress(data, most - n_bytes))
        n_bytes += len(parts[-1])
        if not unpacking.eof and n_bytes < most:
            raise zlib.error("it ends before its content does")
        data = unpacking.unused_data.lstrip(b"\0")
    return b"".join(parts)
