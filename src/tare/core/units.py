"""Read quantities as people write them: ``64KiB``, ``120 s``, ``2 %``, ``1 Gbit/s``.

Decimal prefixes are powers of 1000 and binary ones (Ki, Mi, …) powers of 1024, as in IEC 80000-13.
"""

from __future__ import annotations

import enum
import math
import re

_NUMBER = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*((?![0-9.])\S*)")
_MOST_DIGITS = 18

_DECIMAL: dict[str, float] = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: dict[str, float] = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


class Dimension(enum.Enum):
    """What a quantity measures; `value` is the unit in which Tare stores it."""

    BYTES = "B"
    SECONDS = "s"
    FRACTION = "1"
    BITS_PER_SECOND = "bit/s"
    NODE_HOURS = "node-hours"
    BYTES_PER_SECOND = "B/s"
    FLOPS = "flop/s"


_SPELLED: dict[float, tuple[str, ...]] = {
    1e-9: ("ns", "nsec", "nanosecond", "nanoseconds"),
    1e-6: ("us", "µs", "μs", "usec", "microsecond", "microseconds"),
    1e-3: ("ms", "msec", "millisecond", "milliseconds"),
    1: ("s", "sec", "secs", "second", "seconds"),
    60: ("min", "mins", "minute", "minutes"),
    3600: ("h", "hr", "hrs", "hour", "hours"),
    86400: ("d", "day", "days"),
}
_TIMES: dict[str, float] = {name: factor for factor, names in _SPELLED.items() for name in names}
"""Units of time as programs and people write them, with both letters mu. A bare ``m`` is a metre."""

_UNITS: dict[Dimension, dict[str, float]] = {
    Dimension.BYTES: {f"{prefix}B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
    | {"": 1, "byte": 1, "bytes": 1}
    | {prefix: factor for prefix, factor in _BINARY.items() if prefix},
    Dimension.SECONDS: _TIMES | {"": 1, "m": 60},
    Dimension.FRACTION: {"": 1, "%": 0.01},
    Dimension.BITS_PER_SECOND: {f"{prefix}bit/s": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
    | {f"{prefix}bit": factor for prefix, factor in _DECIMAL.items()},
    Dimension.NODE_HOURS: {"node-hours": 1, "node-hour": 1, "node-h": 1},
    Dimension.BYTES_PER_SECOND: {f"{prefix}B/s": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
    | {f"{prefix}bit/s": factor / 8 for prefix, factor in _DECIMAL.items()},
    Dimension.FLOPS: {
        f"{prefix}{name}/s": factor
        for prefix, factor in _DECIMAL.items()
        for name in ("flop", "FLOP", "Flop")
    },
}

_EXAMPLE = {
    Dimension.BYTES: "64KiB",
    Dimension.SECONDS: "120 s",
    Dimension.FRACTION: "2 %",
    Dimension.BITS_PER_SECOND: "1 Gbit/s",
    Dimension.NODE_HOURS: "400 node-hours",
    Dimension.BYTES_PER_SECOND: "204 GB/s",
    Dimension.FLOPS: "2.5 Tflop/s",
}


def parse_quantity(text: str | float, dimension: Dimension) -> float:
    """Return `text` as a number in the unit of `dimension`; a bare number is already in that unit.

    Raises ValueError with the cure when the number or its unit cannot be read.
    """
    value = _read_quantity(text, dimension)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not finite; write a number such as {_EXAMPLE[dimension]}")
    return value


def _read_quantity(text: str | float, dimension: Dimension) -> float:
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text)
    match = _NUMBER.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(
            f"{text!r} is not a quantity; write a number and a unit, such as {_EXAMPLE[dimension]}"
        )
    number, unit = match.groups()
    try:
        factor = _UNITS[dimension][unit]
    except KeyError:
        raise ValueError(
            f"{text!r} has no unit of {dimension.name.lower().replace('_', ' ')}; write for example "
            f"{_EXAMPLE[dimension]}"
        ) from None
    return float(number) * factor


def whole_number(text: str) -> int | None:
    """Return the number that `text` writes in at most 18 decimal digits; None where it is not one.

    `int` also accepts digits of other scripts, signs, blanks and underscores, and `str.isdigit` also accepts
    ².
    """
    is_whole = len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit()  # a pattern takes longer
    return int(text) if is_whole else None


def unit_factor(unit: str, dimension: Dimension) -> float | None:
    """Return how many of the dimension's own units one `unit` is: 1e6 for ``MB/s``; None if unknown."""
    return _UNITS[dimension].get(unit)


def seconds_in(unit: str) -> float | None:
    """Return the seconds in a unit of time in which programs print figures; None for any other unit.

    Words may be capitalised, symbols may not: ``Min`` is a minute, ``MS`` is not a unit, and ``m`` is a
    metre.
    """
    name = unit.strip()
    return _TIMES.get(name, _TIMES.get(name.lower()) if len(name) > 2 else None)


def is_elapsed_unit(unit: str) -> bool:
    """Return whether a figure of this unit is a time that people wait for: from a millisecond up."""
    return (seconds_in(unit) or 0.0) >= _LEAST_WAITED_S


_LEAST_WAITED_S = 1e-3


def parse_bytes(text: str | float) -> int:
    """Return a size in whole bytes: ``64KiB`` is 65536, ``1MB`` is 1000000."""
    value = parse_quantity(text, Dimension.BYTES)
    if value < 0 or not value.is_integer():
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(value)


def format_bytes(count: float) -> str:
    """Return `count` bytes with the binary prefix that is usual for message sizes: ``64 KiB``."""
    for prefix, factor in reversed(_BINARY.items()):
        if count >= factor:
            return f"{count / factor:.4g} {prefix}B"
    return f"{count:.4g} B"


def write_bytes(count: int) -> str:
    """Return `count` as a study writes it, exactly and without a space: ``64KiB``, ``1000``."""
    for prefix, factor in reversed(_BINARY.items()):
        if count and count % factor == 0:
            return f"{count // factor}{prefix}B"
    return str(count)


def write_number(value: float) -> str:
    """Return the shortest text that reads back as `value`: ``0.1``, and ``16`` without a point."""
    text = f"{value:.15g}"
    return text if float(text) == value else repr(value).removesuffix(".0")


def format_seconds(seconds: float) -> str:
    """Return a duration in its two largest relevant units: ``1 h 12 min``, ``4.2 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1e3:.1f} ms"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if minutes < 10 and rest else f"{minutes} min"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
