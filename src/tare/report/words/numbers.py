"""Write numbers with their signs, units and intervals, as all reports show them."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeGuard

from tare.core.counting import count
from tare.core.values import Scalar
from tare.core.visible_text import visible as visible
from tare.core.workload import ParameterKind, written

NARROW = "\u202f"
"""Narrow no-break space: keeps a number and its unit on one line (ISO 80000-1, 7.1.4)."""

SPACE = "\u00a0"
"""No-break space: keeps a number and its interval on one line."""

_PREFIXES = ("", "k", "M", "G", "T", "P")
_UNITS = {"1/s": "/s", "us": "µs", "usec": "µs", "Mbytes/s": "MB/s", "Mbytes/sec": "MB/s", "": ""}
MOST_IN_PERCENT = 10.0
"""A ratio above this or below its inverse is written as a factor: 161 ×, not +15992 %; 1/161 ×, not −99 %."""

MOST_DECIMALS = 4
_LEAST_WITH_EXPONENT = 1e7
_WIDE = 0.2
_MOST_DIGITS = 5
_LEAST_MEASURED, _MOST_MEASURED = 2, 6
"""The significant digits of a value with an interval."""


def number(value: float, digits: int = 3) -> str:
    """Return `value` to `digits` significant digits, without an exponent from 1e-3 to below 1e7."""
    if value == 0:
        return "0"
    if math.isinf(value):  # the ratio of a forged figure
        return "∞" if value > 0 else "−∞"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))  # 9.999 counts as 10
    if not -4 < magnitude < 7:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    decimals = max(0, digits - 1 - magnitude)
    return f"{value:,.{decimals}f}".replace(",", NARROW).replace("-", "−")


def unit_name(unit: str) -> str:
    """Return `unit` in print form: ``µs`` for ``us``."""
    return _UNITS.get(unit, visible(unit))


def words(name: str) -> str:
    """Return the name of a FOM or a setting as prose: ``message rate``."""
    return visible(name.replace("_", " "))


def quantity(value: float, unit: str) -> str:
    """Return a value with its unit: ``2.41 µs``."""
    return with_unit(number(value), unit)


def with_unit(text: str, unit: str) -> str:
    """Return a number with its unit; a count, whose unit is ``1``, has none: ``7.00``, not ``7.00 1``."""
    name = "" if unit == "1" else unit_name(unit)
    return f"{text}{NARROW}{name}" if name else text


def measured(value: float, low: float | None, high: float | None, unit: str) -> str:
    """Return a value with its unit and the digits that its interval allows: ``20.13 µs``, ``3 900 MB/s``.

    The last digit is of the order of half the interval's width, but there are two digits at least: 117 in
    [22, 601] is not 100. Without an interval, there are three digits.
    """
    if low is None or high is None or high <= low or not 1e-3 <= abs(value) < 1e7:
        return quantity(value, unit)
    magnitude = math.floor(math.log10(abs(value)))
    decimals = -math.floor(math.log10((high - low) / 2))
    decimals = min(max(decimals, _LEAST_MEASURED - 1 - magnitude), _MOST_MEASURED - 1 - magnitude)
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}".replace(",", NARROW).replace("-", "−")
    return with_unit(text, unit)


def scaled(value: float, unit: str) -> str:
    """Return a value, with a decimal prefix if its unit is B or B/s: ``1.17 GB``, ``339 MB/s``."""
    if unit not in ("B", "B/s"):
        return quantity(value, unit)
    power = min(max(math.floor(math.log10(abs(value))) // 3, 0), len(_PREFIXES) - 1) if value else 0
    return quantity(value / 1000**power, _PREFIXES[power] + unit)


def _decimals(share: float) -> int:
    return 0 if abs(share) >= 0.0995 else 1


def percent(share: float, *, is_signed: bool = True, decimals: int | None = None) -> str:
    """Return a share as percent: ``+68 %``, ``−0.4 %``; one decimal below ten percent."""
    digits = _decimals(share) if decimals is None else decimals
    text = _in_percent(share, digits)
    sign = "+" if is_signed and share > 0 and text != f"{0:.{digits}f}" else ""
    return f"{sign}{text}{NARROW}%"


def _in_percent(share: float, decimals: int) -> str:
    """Return a share times 100 with its decimals; with an exponent where `number` writes one, too."""
    if abs(share * 100) >= _LEAST_WITH_EXPONENT:
        return number(share * 100)
    text = f"{share * 100:.{decimals}f}"
    return (text if float(text) else f"{0:.{decimals}f}").replace("-", "−")


def exact_percent(share: float) -> str:
    """Return a share that was asked for, such as a margin, in percent and unrounded: ``2.5 %``."""
    return f"{share * 100:.6g}{NARROW}%"


def bracket(bounds: tuple[float, float] | None, decimals: int) -> str:
    """Return an interval of shares in percent: ``[61, 75]``; empty if there is none."""
    if bounds is None:
        return ""
    low, high = (_in_percent(end, decimals) for end in bounds)
    return f"[{low},{SPACE}{high}]"


def bracket_values(low: float | None, high: float | None) -> str:
    """Return an interval of plain values: ``[2.38, 2.44]``; empty if there is none."""
    return "" if low is None or high is None else f"[{number(low)},{SPACE}{number(high)}]"


_EXACT = 10 ** -(MOST_DECIMALS + 2)
"""Shares that differ by less look equal with the most decimals, too."""


def share_decimals(share: float, bounds: tuple[float, float] | None) -> int:
    """Return the number of decimals for a share in percent.

    There are more decimals, at most four, if the two ends of its interval would otherwise look equal, or a
    difference without scatter like 0. There is none if the interval is so wide that decimals mean nothing.
    """
    if bounds is not None and bounds[1] - bounds[0] >= _WIDE:
        return 0
    decimals = _decimals(share)
    if bounds is None:
        return decimals
    is_point = bounds[1] - bounds[0] <= _EXACT
    if is_point and abs(share) <= _EXACT:
        return decimals
    ends = {0.0, share} if is_point else set(bounds)  # an end that is not 0 must not look like 0
    n_looks = min(len(ends), 2)
    while decimals < MOST_DECIMALS and len({float(f"{end * 100:.{decimals}f}") for end in ends}) < n_looks:
        decimals += 1
    return decimals


def probability(value: float | None) -> str:
    """Return a p value as papers print it: two digits, and ``< 0.001`` below that."""
    if value is None:
        return ""
    return f"<{NARROW}0.001" if value < 0.001 else f"{value:.2g}"


def ratio(value: float | None) -> str:
    """Return contender / reference as a factor: ``× 1.68``, ``× 1/161``; it has more decimals near 1."""
    if value is None:
        return "–"
    return f"×{NARROW}{times(value) if is_manifold(value) else f'{value:.{_ratio_decimals(value)}f}'}"


def ratio_bounds(value: float | None, low: float | None, high: float | None) -> str:
    """Return the interval of a ratio to as many decimals as the ratio: ``[1.61, 1.75]``."""
    if value is None or low is None or high is None:
        return ""
    if is_manifold(value):
        return times_bounds(low, high)
    decimals = _ratio_decimals(value)
    return f"[{low:.{decimals}f},{SPACE}{high:.{decimals}f}]"


def is_manifold(value: float) -> bool:
    """Return whether a ratio is written as a factor; a ratio of 0 is not, since it is 100 % less."""
    return value > MOST_IN_PERCENT or 0 < value < 1 / MOST_IN_PERCENT


def times(value: float, low: float | None = None, high: float | None = None) -> str:
    """Return a ratio as ``161`` or ``1/161``, with enough digits to distinguish the ends of its interval."""
    return _times(value, _digits(low, high))


def times_bounds(low: float | None, high: float | None) -> str:
    """Return the interval of such a ratio: ``[155, 167]``, ``[1/167, 1/155]``; empty if there is none."""
    if low is None or high is None:
        return ""
    digits = _digits(low, high)
    return f"[{_times(low, digits)},{SPACE}{_times(high, digits)}]"


def _digits(low: float | None, high: float | None) -> int:
    digits = 3
    if low is not None and high is not None and low != high:
        while digits < _MOST_DIGITS and _times(low, digits) == _times(high, digits):
            digits += 1
    return digits


def _times(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "∞"
    is_part = 0 < value < 1 / MOST_IN_PERCENT
    return f"1/{number(1 / value, digits)}" if is_part else number(value, digits)


def _ratio_decimals(value: float) -> int:
    return 3 if abs(value - 1) < 0.0995 else 2


NO_KINDS: Mapping[str, ParameterKind] = MappingProxyType({})
"""The kinds of settings if none is known."""


def listed(parts: Sequence[str]) -> str:
    """Return `parts` as a list in prose: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else ""


def coordinate(name: str, value: Scalar, kinds: Mapping[str, ParameterKind] = NO_KINDS) -> str:
    """Return one coordinate or setting as text for a table: ``block 64 KiB``, ``2 nodes``, ``direct on``.

    `kinds` has the kinds of a workload's settings (Plan.kinds_of). Without it, only a name that ends in
    ``bytes`` has a kind.
    """
    if isinstance(value, bool):
        return f"{words(name)} {'on' if value else 'off'}"
    kind = kinds.get(name, ParameterKind.BYTES if counts_bytes(name) else None)
    if isinstance(value, int) and name in ("nodes", "ranks", "threads"):
        return count(value, name[:-1]).replace(" ", NARROW)
    text = _spaced(written(value, kind), kind) if is_number(value) else visible(written(value, kind))
    label = words(name.removesuffix("_s") if kind is ParameterKind.SECONDS else name)
    return text if name == "bytes" and is_number(value) else f"{label} {text}"


def _spaced(text: str, kind: ParameterKind | None) -> str:
    """Return `text`, a setting as in a study file, with a space before its unit; bytes always get a unit."""
    digits = text.rstrip(" %" + string.ascii_letters) if kind else text
    unit = text[len(digits) :].strip() or ("B" if kind is ParameterKind.BYTES else "")
    return f"{digits}{NARROW}{unit}" if unit else text


def is_number(value: Scalar | None) -> TypeGuard[int | float]:
    """Return whether `value` is a number; a boolean is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def counts_bytes(name: str) -> bool:
    """Return whether a coordinate counts bytes according to its name."""
    return name.endswith("bytes")
