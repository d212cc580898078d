"""What a page of Tare's holds compressed, in plain text."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Iterator


def unpacked(text: str) -> Iterator[str]:
    """Yield what stands compressed in a page; see report.packing."""
    for word in set(re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", text)):
        try:
            yield zlib.decompress(b64decode(word), wbits=47).decode(errors="replace")
        except (ValueError, zlib.error):
            try:
                yield zlib.decompress(b64decode(word), wbits=-15).decode(errors="replace")
            except (ValueError, zlib.error):
                continue
