"""Read the settings of a fio job: from its options in JSON, or from the line that announces it in text.

The settings are returned by the name of the workload's parameter; `rw` is the pattern. A block size is left
out if it is a range, or if it differs between the operations of the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tare.core.values import Scalar

_OPTIONS = {"bs": "block", "blocksize": "block", "size": "size"}
_COUNTS = {"iodepth": "iodepth", "numjobs": "threads"}
_SIZE = re.compile(r"([0-9]{1,15})([kKmMgG]?)(?:i?[bB])?")
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30}
"""Powers of 2 for each unit: fio's k is 1024 by default (HOWTO: kb_base)."""
_MOST_DIGITS = 10
_LINE = re.compile(r"(.*): \(g=([0-9]{1,9})\): rw=(\w+), bs=(.+), ioengine=([\w-]+), iodepth=([0-9]{1,9})")
_BLOCK = re.compile(
    r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([KMG]?)(?:i?B)?-([0-9]{1,6}(?:\.[0-9]{1,3})?)([KMG]?)(?:i?B)?"
)


def option_facts(options: Mapping[str, str]) -> dict[str, Scalar]:
    """Return the settings of a job from its options in JSON."""
    return dict(_from_options(options))


def _from_options(options: Mapping[str, str]) -> Iterator[tuple[str, Scalar]]:
    for option, name in _OPTIONS.items():
        if match := _SIZE.fullmatch(options.get(option, "")):
            yield name, int(match[1]) << _POWERS[match[2].lower()]
    for option, name in _COUNTS.items():
        if (text := options.get(option, "")).isdecimal() and len(text) < _MOST_DIGITS:
            yield name, int(text)
    if options.get("direct") in {"0", "1"}:
        yield "direct", options["direct"] == "1"
    if engine := options.get("ioengine"):
        yield "ioengine", engine
    if pattern := options.get("rw") or options.get("readwrite"):
        yield "rw", pattern.partition(":")[0]


def line_facts(line: str) -> tuple[tuple[str, int], dict[str, Scalar]] | None:
    """Return name, group and settings of the job that `line` announces; None if it announces no job."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    facts: dict[str, Scalar] = {"rw": match[3], "ioengine": match[5], "iodepth": int(match[6])}
    if (block := _block(match[3], match[4])) is not None:
        facts["block"] = block
    return (match[1], int(match[2])), facts


def _block(pattern: str, text: str) -> int | None:
    """Return the block size of a job's operations in bytes, or None if there are several sizes."""
    bounds = [(_bytes(low, one), _bytes(high, other)) for low, one, high, other in _BLOCK.findall(text)]
    if pattern in {"read", "randread"}:
        bounds = bounds[:1]
    elif pattern in {"write", "randwrite"}:
        bounds = bounds[1:2]
    elif pattern in {"trim", "randtrim"}:
        bounds = bounds[2:3]
    else:
        bounds = bounds[:2]
    sizes = {size for pair in bounds for size in pair}
    return sizes.pop() if len(sizes) == 1 else None


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * (1 << _POWERS[unit.lower()]))
