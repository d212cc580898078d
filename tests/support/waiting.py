"""Wait in a test for what another process or thread does."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(is_so: Callable[[], object], within_s: float = 180.0, every_s: float = 0.02) -> None:
    """Wait until something is so, asked `every_s`; fail when it is not `within_s`."""
    end = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(every_s)
