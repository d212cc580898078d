"""Small values that the other nouns are made of."""

from __future__ import annotations

from collections.abc import Mapping

from tare.units import parse_bytes

Scalar = str | int | float | bool
"""One value of a setting, as a study writes it and as a table shows it."""

Settings = Mapping[str, Scalar]
"""Setting names to values: a level, a case seen flat, the coordinates of a measurement."""


def is_written(value: Scalar, text: str) -> bool:
    """Return whether `text` writes `value`: as it is printed, or as another spelling of the same number."""
    if str(value) == text:
        return True
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return False
    try:
        return parse_bytes(text) == value
    except ValueError:
        return _is_number(text, value)


def _is_number(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False
