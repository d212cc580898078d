"""Convert limits to the unit of a figure of merit, such as ``0.1 Gbit/s`` to MB/s."""

from __future__ import annotations

import re
from typing import NamedTuple

from tare.core.units import Dimension, parse_quantity

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_PREFIXES = _DECIMAL | {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_DATA = re.compile(r"((?:[kKMGTP]i?)?)(B|bytes?|bits?)")
_COUNTED = re.compile(r"([kKMGTP]?)(flops?|up|ops?|atom-step|msg|packets?)", re.IGNORECASE)
_PHYSICAL = re.compile(r"([nuµmkMGTP]?)(J|Wh|W|Hz)")
_SMALL = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3}
_JOULES_IN_WH = 3600.0


class _Scale(NamedTuple):
    """The value of one unit in the base units of its dimension; an unknown unit is its own dimension."""

    factor: float
    dimension: str
    is_known: bool = True


def convert(number: float, unit: str, to: str) -> float:
    """Return `number` of `unit` in the unit `to`. Raises ValueError where the units do not fit together."""
    if unit == to:
        return number
    one, other = _scale(unit), _scale(to)
    if one.dimension != other.dimension:
        are_known = one.is_known and other.is_known
        fault = "is not a unit of what is measured in" if are_known else "cannot be converted to"
        raise ValueError(f"{unit or 'a bare number'} {fault} {to}; write the limit in {to}")
    return number * one.factor / other.factor


def _scale(unit: str) -> _Scale:
    above, slash, below = unit.partition("/")
    if not slash:
        return _plain(unit)
    one, other = _plain(above), _plain(below)
    dimension = f"{one.dimension}/{other.dimension}"
    return _Scale(one.factor / other.factor, dimension, one.is_known and other.is_known)


def _plain(unit: str) -> _Scale:
    if unit in {"", "1", "%"}:
        return _Scale(0.01 if unit == "%" else 1.0, "1")
    if data := _DATA.fullmatch(unit):
        return _Scale(_PREFIXES[data[1]] * (8 if data[2].startswith(("B", "byte")) else 1), "bit")
    if counted := _COUNTED.fullmatch(unit):
        return _Scale(_PREFIXES[counted[1].upper()], counted[2].lower().removesuffix("s"))
    if physical := _PHYSICAL.fullmatch(unit):
        factor = (_PREFIXES | _SMALL)[physical[1]]
        is_energy = physical[2] == "Wh"
        return _Scale(factor * (_JOULES_IN_WH if is_energy else 1), "J" if is_energy else physical[2])
    for spelling in (unit, f"{unit}s"):  # a day is known to units.py as "days"
        try:
            return _Scale(parse_quantity(f"1 {spelling}", Dimension.SECONDS), "s")
        except ValueError:
            continue
    return _Scale(1.0, unit, is_known=False)
