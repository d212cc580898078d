"""Packet sizes: a counter that goes to the nodes of a run, and the histograms that it makes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tare.errors import CampaignError

STORED = "packets.json"
"""The file in an attempt's folder."""

_LEAST_SHARE = 0.01
_MOST_PEAKS = 8


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The packets of one host's interface: pairs of size in bytes and count, with their Ethernet header.

    Besides `n_packets`, `n_dropped` came too fast to be counted. `fault` says why there are none. `cpu_s` is
    what counting took of a core.
    Segmentation offload hands packets of up to 64 KiB to an interface, which are cut, if at all, beneath it.
    """

    interface: str = ""
    n_packets: int = 0
    n_dropped: int = 0
    sent: list[tuple[int, int]] = []
    received: list[tuple[int, int]] = []
    cpu_s: float = 0.0
    fault: str = ""


def program(interface: str) -> str:
    """Return the program that counts on `interface`, of Python 3.6 and its standard library."""
    text = Path(__file__).with_name("node.py").read_text(encoding="utf-8")
    return f"{text}\n\nrun({interface!r})\n"


def command(interface: str) -> str:
    """Return the shell command that runs it."""
    return f"exec python3 -I -S -c {shlex.quote(program(interface))}"


def read_answer(text: str) -> Counted:
    """Return what a counter said last, or why there is nothing."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    try:
        return msgspec.json.decode(lines[-1].encode(), type=Counted)
    except (IndexError, msgspec.DecodeError):
        return Counted(fault=text.strip()[-200:] or "the counter said nothing; is there a python3?")


def store(folder: Path, counted: dict[str, Counted]) -> None:
    """Keep what hosts counted in an attempt's folder."""
    try:
        (folder / STORED).write_bytes(msgspec.json.encode(counted, order="sorted"))
    except OSError as error:
        raise CampaignError.from_os(folder, error) from error


def read(folder: Path) -> dict[str, Counted]:
    """Return what hosts counted; empty where nobody did."""
    path = folder / STORED
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Counted]) if path.is_file() else {}


def by_power_of_two(sizes: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return counts by the power of two that sizes do not exceed: 1500 bytes count under 2048."""
    found: dict[int, int] = {}
    for size, n in sizes:
        bin_ = 1 << max(size - 1, 0).bit_length()
        found[bin_] = found.get(bin_, 0) + n
    return dict(sorted(found.items()))


def peaks(sizes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sizes that at least one packet in a hundred has, the most frequent first."""
    found = sorted(sizes, key=lambda pair: (-pair[1], pair[0]))
    total = sum(n for _, n in found)
    return [(size, n) for size, n in found[:_MOST_PEAKS] if n >= _LEAST_SHARE * total]
