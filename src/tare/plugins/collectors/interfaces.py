"""Read bytes and packets by network interface (/proc/net/dev, proc_net(5)) and by RDMA adapter port."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from tare.core.job import Counters
from tare.core.kernel_files import read_kernel_file
from tare.core.units import whole_number
from tare.plugins.collectors.adapters import read_adapters
from tare.probes.traffic import ADAPTERS, INTERFACES

_RX_BYTES, _RX_PACKETS, _TX_BYTES, _TX_PACKETS = 0, 1, 8, 9
_OF_STACK = {"bonding", "bridge"}
"""Entries of an interface in /sys/class/net that tell that it is stacked on others, beside ``lower_NAME``."""

_N_FIELDS = 16  # in a line without one, received counts would be read as sent counts


def read_counters(text: str) -> dict[str, Counters]:
    """Return the counters of each interface in the text of /proc/net/dev. Damaged lines are skipped."""
    read = (_counters_in(line) for line in text.splitlines()[2:])
    return dict(one for one in read if one is not None)


@lru_cache(maxsize=64)  # most interfaces are idle: their lines are the same before and after each run
def _counters_in(line: str) -> tuple[str, Counters] | None:
    name, _, rest = line.partition(":")
    fields = [whole_number(one) for one in rest.split()]
    if len(fields) != _N_FIELDS or None in fields:
        return None
    counts = [one or 0 for one in fields]
    counters = Counters(counts[_RX_BYTES], counts[_RX_PACKETS], counts[_TX_BYTES], counts[_TX_PACKETS])
    return name.strip(), counters


def read_traffic(records: Mapping[str, str]) -> dict[str, Counters]:
    """Return the counters of each interface, and of each DEVICE:PORT, from the records of traffic.sh."""
    found = read_counters(records.get(INTERFACES, ""))
    adapters = read_adapters(records.get(ADAPTERS, ""))
    for name, link in adapters.links.items():
        if name in found:
            found[name] = msgspec.structs.replace(found[name], link=link)
    return found | adapters.ports


def read_own_records(root: Path = Path("/")) -> dict[str, str] | None:
    """Return the records of traffic.sh for this machine, without a shell: each run needs them twice.

    None on a machine with RDMA adapters, whose counters only the script reads. `root` is for tests. Of the
    same interfaces it is looked up once a second which is stacked on which.
    """
    try:
        text = read_kernel_file(os.path.join(root, INTERFACES.lstrip("/")))  # noqa: PTH118  # twice a run
    except OSError:
        text = ""
    names = tuple([line.partition(":")[0].strip() for line in text.splitlines()[2:]])
    stacked = _stacked(os.path.join(root, "sys/class"), names, int(time.monotonic()))  # noqa: PTH118
    if stacked is None:
        return None
    records = {INTERFACES: text, ADAPTERS: stacked}
    return {name: text for name, text in records.items() if text}


@lru_cache(maxsize=2)
def _stacked(classes: str, interfaces: tuple[str, ...], second: int) -> str | None:
    """Return the entries of `interfaces` that tell what each is stacked on; None if there are RDMA adapters.

    The answer holds for a `second`: a run of a millisecond would spend much of it on these lists.
    """
    if any(_names(f"{classes}/{name}") for name in ("infiniband", "cxi")):
        return None
    if any(os.path.exists(f"{classes}/net/{one}/device/infiniband") for one in interfaces):  # noqa: PTH110
        return None
    return "".join(
        f"net/{one}/{name}\n"
        for one in interfaces
        for name in _names(f"{classes}/net/{one}")
        if name in _OF_STACK or name.startswith("lower_")
    )


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  # it is called often, and needs only names
    except OSError:
        return []
