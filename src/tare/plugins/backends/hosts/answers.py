"""Wait for the answer of a host to a script, and give it up when it has been silent for too long."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import IO

from tare.core.errors import BackendError
from tare.core.units import format_bytes
from tare.core.visible_text import said_line
from tare.plugins.backends.hosts.openssh import explain
from tare.plugins.backends.hosts.output import MOST_BYTES, TooMuchOutput, read_output
from tare.probes.records import SEPARATOR

BEGIN = "tare-begins"
"""What a script prints first: text before it is that of login scripts."""

_UNREACHABLE = 255  # ssh(1): "exits with 255 if an error occurred"
_PIECE = 65536
_MOST_QUOTED = 60


def answer_of(
    host: str,
    process: subprocess.Popen[bytes],
    *,
    timeout_s: float,
    silence_s: float | None = None,
    login_s: float | None = None,
) -> str:
    """Return what a script prints on `host` after BEGIN.

    `silence_s` is how long it may print nothing, and `login_s` how long BEGIN may take; None for no such
    limits. Raises BackendError for a host that does not answer in time, or is not reached.
    """
    deadline = time.monotonic() + timeout_s
    if silence_s is None or login_s is None:
        try:
            out, err = read_output(process, timeout_s)
        except subprocess.TimeoutExpired as error:
            raise BackendError(f"host {host} did not answer within {timeout_s:g} s") from error
        except TooMuchOutput as error:
            raise BackendError(_endless(host)) from error
    else:
        out, err = _read(host, process, deadline, silence_s, login_s)
    if process.returncode == _UNREACHABLE:
        raise BackendError(f"host {host} could not be reached: {explain(host, err.decode(errors='replace'))}")
    return out.decode(errors="replace").partition(f"{BEGIN}\n")[2]


def _read(
    host: str, process: subprocess.Popen[bytes], deadline: float, silence_s: float, login_s: float
) -> tuple[bytes, bytes]:
    """Return what a process prints until it ends; each byte of its output gives it `silence_s` more."""
    out, err = bytearray(), bytearray()
    texts: dict[IO[bytes] | None, bytearray] = {process.stdout: out, process.stderr: err}
    begin = f"{BEGIN}\n".encode()
    limit = min(time.monotonic() + login_s, deadline)
    with selectors.DefaultSelector() as selector:
        for stream, text in texts.items():
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, text)
        while selector.get_map():
            ready = selector.select(max(limit - time.monotonic(), 0))
            if not ready and time.monotonic() >= limit:
                raise BackendError(_given_up(host, out, limit >= deadline, silence_s, login_s))
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                key.data.extend(piece)
                if not piece:
                    selector.unregister(key.fileobj)
                elif len(out) + len(err) > MOST_BYTES:
                    raise BackendError(_endless(host))
                elif key.data is out and begin in out:
                    limit = min(time.monotonic() + silence_s, deadline)
    process.wait(max(deadline - time.monotonic(), 1))
    return bytes(out), bytes(err)


def _endless(host: str) -> str:
    return f"host {host} prints more than {format_bytes(MOST_BYTES)}, and was given up"


def _given_up(host: str, out: bytes | bytearray, is_over: bool, silence_s: float, login_s: float) -> str:
    """Return why the host is given up, with what it was at: the record that it began last."""
    text = out.decode(errors="replace")
    if f"{BEGIN}\n" not in text:
        return f"host {host} began no script within {login_s:g} s: its login or login scripts do not end"
    name = text.split(SEPARATOR)[-2] if text.count(SEPARATOR) > 1 else ""
    where = f" at {said_line(name, _MOST_QUOTED)!r}" if name else ""
    limit = "did not come to its end in time" if is_over else f"printed nothing for {silence_s:g} s"
    return f"host {host} {limit}, and was given up{where}"
