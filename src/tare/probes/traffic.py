"""The script that prints the network counters of a node, and the names of its records. Pure."""

from __future__ import annotations

from pathlib import Path

INTERFACES = "/proc/net/dev"
"""The record of network interfaces (proc_net(5))."""

ADAPTERS = "/sys/class"
"""The record of stacked interfaces, and of adapters that bypass the kernel: one path below it a line."""


def traffic_script() -> str:
    """Return the script for a POSIX shell; a record is its path and its text, each after a 0x1e."""
    return Path(__file__).with_name("traffic.sh").read_text()
