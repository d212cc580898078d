"""Make frames of records: a column for each field, with one type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tare.core.values import Scalar, Settings

if TYPE_CHECKING:
    import polars as pl

_TEXTS = (
    *("workload", "fom", "unit", "better", "kind", "along", "verdict", "correction", "note"),
    *("case", "contender_case", "reference_case", "name", "refusal"),
    *("reference", "contender", "network", "platform", "remarks"),
)
"""Columns that are text even if all of their cells are null."""


class Table:
    """What is a table as well: notebooks show it as one."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows of the table."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.to_polars()._repr_html_()


def plain(value: object) -> Scalar | None:
    """Return a member of an enumeration as its word, and any number as one of Python."""
    if value is None or isinstance(value, (bool, int)):
        return value
    return float(value) if isinstance(value, float) else str(getattr(value, "value", value))


def spread(prefix: str, every: Sequence[Settings], taken: Iterable[str]) -> dict[str, list[Scalar | None]]:
    """Return a column for each setting; ``PREFIXsetting_NAME`` where the bare name is `taken`."""
    names = dict.fromkeys(name for one in every for name in one)
    known = set(taken)
    return {
        f"{prefix}setting_{name}" if prefix + name in known else prefix + name: [
            one.get(name) for one in every
        ]
        for name in names
    }


def frame(columns: Mapping[str, Sequence[Scalar | None]]) -> pl.DataFrame:
    """Return `columns` as a frame: each is of numbers, of truth values, or of text if they differ in type."""
    import polars as pl

    from tare.storage.frame import column

    series = [
        column(name, values)
        if name in _TEXTS or any(one is not None for one in values)
        else pl.Series(name, values, pl.Float64)
        for name, values in columns.items()
    ]
    return pl.DataFrame(series).cast({pl.Categorical: pl.String})
