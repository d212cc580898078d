"""Wait for the end of a job, within the limit of its output.

The limit keeps an endless output from filling the disk that all runs use.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tare.core.safe_folder import SafeFolder
from tare.core.units import format_bytes

MOST_BYTES = 1 << 30
"""The limit for each output of a job. The limit is lower if half of the free space at the start is less."""

_KEPT_BYTES = 1 << 20
_FIRST_S, _LEAST_S, _MOST_S = 0.1, 0.02, 1.0


class Waited(NamedTuple):
    """Why a wait ended: the job's end, its time-out, or an output beyond the limit (`excess`, a sentence)."""

    is_timeout: bool = False
    excess: str = ""


def bound_in(folder: Path) -> int:
    """Return the limit for an output of a job in `folder`.

    Call it before the start: a job may remove the folder.
    """
    space = os.statvfs(folder)
    return min(MOST_BYTES, space.f_bavail * space.f_frsize // 2)


def wait_within(
    wait: Callable[[float], bool], folder: Path, outputs: Sequence[str], bound: int, timeout_s: float
) -> Waited:
    """Wait for the end of a job that writes `outputs` in `folder`. `wait` waits for some seconds.

    The sizes of the outputs are checked once a second, and more often when an output grows fast towards the
    limit.
    """
    deadline, pause_s, before = time.monotonic() + timeout_s, _FIRST_S, 0
    while True:
        left_s = max(deadline - time.monotonic(), 0)
        has_ended = wait(min(pause_s, left_s))
        sizes = {name: _size(folder, name) for name in outputs}
        largest = max(sizes, key=sizes.__getitem__)
        if sizes[largest] > bound:
            allowed = "half of the space that was left" if bound < MOST_BYTES else format_bytes(bound)
            return Waited(
                excess=f"printed more than {allowed} to {largest} and was ended; the first "
                f"{format_bytes(_KEPT_BYTES)} are kept"
            )
        if has_ended or left_s <= pause_s:
            return Waited(is_timeout=not has_ended)
        rate = (sizes[largest] - before) / pause_s
        before = sizes[largest]
        pause_s = max(min(2 * pause_s, _MOST_S, (bound - before) / (2 * rate + 1)), _LEAST_S)


def cut(folder: Path, outputs: Sequence[str]) -> None:
    """Shorten outputs that are longer than the kept size to that size."""
    for name in outputs:
        if _size(folder, name) > _KEPT_BYTES:
            with contextlib.suppress(OSError):
                descriptor = SafeFolder(folder, name).open(os.O_WRONLY)
                with contextlib.closing(os.fdopen(descriptor, "wb")):
                    os.ftruncate(descriptor, _KEPT_BYTES)


def _size(folder: Path, name: str) -> int:
    try:
        return SafeFolder(folder, name).status().st_size
    except OSError:
        return 0
