"""Small values that the other nouns are made of."""

from __future__ import annotations

from collections.abc import Mapping

Scalar = str | int | float | bool
"""One value of a setting, as a study writes it and as a table shows it."""

Settings = Mapping[str, Scalar]
"""Setting names to values: a level, a case seen flat, the coordinates of a measurement."""
