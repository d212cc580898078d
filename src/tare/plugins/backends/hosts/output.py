"""Read what a command prints: one that prints without end does not take all memory."""

from __future__ import annotations

import errno
import os
import selectors
import subprocess
import time

from tare.core.units import format_bytes

MOST_BYTES = 256 * 1024 * 1024
"""The most bytes that are read of a command; squeue(1) prints some 20 MB of 100,000 jobs."""

_PIECE = 65536


class TooMuchOutput(OSError):
    """A command printed more than is read of it."""

    def __init__(self, limit: int) -> None:
        super().__init__(errno.EFBIG, f"it prints more than {format_bytes(limit)}")


def read_output(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[bytes, bytes]:
    """Return what a process prints to the pipes of its standard output and error until it ends.

    Raises subprocess.TimeoutExpired, or TooMuchOutput above MOST_BYTES; the process then goes on.
    """
    deadline = time.monotonic() + timeout_s
    texts = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
    with selectors.DefaultSelector() as selector:
        for stream, text in texts.items():
            selector.register(stream, selectors.EVENT_READ, text)
        while selector.get_map():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise subprocess.TimeoutExpired(process.args, timeout_s)
            for key, _ in selector.select(left_s):
                piece = os.read(key.fd, _PIECE)
                key.data.extend(piece)
                if not piece:
                    selector.unregister(key.fileobj)
            if sum(map(len, texts.values())) > MOST_BYTES:
                raise TooMuchOutput(MOST_BYTES)
    process.wait(max(deadline - time.monotonic(), 0))
    for stream in texts:
        stream.close()
    out, err = (bytes(texts[stream]) if stream else b"" for stream in (process.stdout, process.stderr))
    return out, err
