"""Counts of the packets of an interface by size."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON
from tare.core.safe_folder import SafeFolder

STORED = "packets.json"
"""The file in an attempt's folder."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
_Pair = tuple[Annotated[int, msgspec.Meta(ge=0, le=1 << 32)], Annotated[int, msgspec.Meta(ge=1, le=1 << 62)]]

_LEAST_SHARE = 0.01
_MOST_PEAKS = 8


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The packets of one host's interface: pairs of size in bytes and count.

    Sizes include the Ethernet header.

    `n_dropped` packets in addition to `n_packets` came too fast to be counted. `fault` says why there are no
    counts, or not all. `cpu_s` is the CPU time of one core that counting took. Loopback has each packet in
    both directions. With segmentation offload, an interface gets packets of up to 64 KiB, which are cut
    beneath it, if at all.
    """

    interface: str = ""
    n_packets: _Count = 0
    n_dropped: _Count = 0
    sent: list[_Pair] = []
    received: list[_Pair] = []
    cpu_s: float = 0.0
    fault: str = ""


def read(folder: Path, *names: str) -> dict[str, Counted]:
    """Return what hosts counted in the attempt's folder with these names below `folder`.

    It is empty where nothing was counted. Where the file cannot be read, the fault of a host without a name
    says why.
    """
    try:
        os.lstat(os.path.join(folder, *names, STORED))  # noqa: PTH118  # most of 10,000 have none
        return decode_json(SafeFolder(folder, *names, STORED).read(), type=dict[str, Counted])
    except FileNotFoundError:
        return {}
    except OSError as error:
        return {"": Counted(fault=f"{STORED} cannot be read: {error.strerror}")}
    except NOT_JSON as error:
        return {"": Counted(fault=f"{STORED} is damaged: {error}")}


def faults(folders: Iterable[Path]) -> Counter[str]:
    """Return the reasons why packets were not counted, or not all, with the number of attempts for each."""
    counted = (read(folder).values() for folder in folders)
    return Counter(why for hosts in counted for why in {one.fault for one in hosts if one.fault})


def by_power_of_two(sizes: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return counts by power of two, as upper bound of the sizes: 1500 bytes count under 2048."""
    found: dict[int, int] = {}
    for size, n in sizes:
        bin_ = 1 << max(size - 1, 0).bit_length()
        found[bin_] = found.get(bin_, 0) + n
    return dict(sorted(found.items()))


def peaks(sizes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sizes of at least one packet in a hundred, most frequent first; at most eight."""
    found = sorted(sizes, key=lambda pair: (-pair[1], pair[0]))
    total = sum(n for _, n in found)
    return [(size, n) for size, n in found[:_MOST_PEAKS] if n >= _LEAST_SHARE * total]
