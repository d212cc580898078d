"""The script by which nodes tell what has crossed their network, and its records. Pure."""

from __future__ import annotations

from pathlib import Path

INTERFACES = "/proc/net/dev"
"""The record of network interfaces (proc_net(5))."""

ADAPTERS = "/sys/class"
"""The record of what interfaces lie on, and of adapters that carry data past them: a path below it a line."""


def traffic_script() -> str:
    """Return the script for a POSIX shell; each record is its path and its text, behind a 0x1e each."""
    return Path(__file__).with_name("traffic.sh").read_text()
