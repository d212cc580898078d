"""Wait for the end of a child process without polling (pidfd_open(2))."""

from __future__ import annotations

import os
import select
import subprocess


def wait_for_end(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait for the end of `process` without polling (pidfd_open(2)). Return False on time-out."""
    if process.poll() is not None:
        return True
    descriptor = os.pidfd_open(process.pid)
    try:
        waiter = select.poll()
        waiter.register(descriptor, select.POLLIN)
        return bool(waiter.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)
