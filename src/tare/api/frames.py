"""Make frames of records: a column for each field, of the field's type, also where there is no record."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tare.core.interval import Bounded
from tare.core.values import Scalar, Settings

if TYPE_CHECKING:
    import polars as pl


class Table:
    """What is a table as well: notebooks show it as one."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows of the table."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.to_polars()._repr_html_()


def fields(
    kind: type[msgspec.Struct], records: Sequence[msgspec.Struct], names: Iterable[str]
) -> dict[str, pl.Series]:
    """Return a column for each field in `names` of `records`, which all are of `kind`."""
    import polars as pl

    types = {one.name: _column_type(one.type) for one in msgspec.structs.fields(kind)}
    return {
        name: pl.Series(name, [_plain(getattr(one, name)) for one in records], types[name]) for name in names
    }


def numbers(values: Sequence[float | None]) -> pl.Series:
    """Return a column of numbers that are no field."""
    import polars as pl

    return pl.Series(values=values, dtype=pl.Float64)


def bounded(name: str, every: Sequence[object]) -> dict[str, pl.Series]:
    """Return the columns of values and of the ends of their intervals; null where there is no value."""
    return {
        f"{name}{end}": numbers([getattr(one, part, None) for one in every])
        for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))
    }


def spread(prefix: str, every: Sequence[Settings], taken: Iterable[str]) -> dict[str, pl.Series]:
    """Return a column for each setting; ``PREFIXsetting_NAME`` where the bare name is `taken`.

    It is of numbers, of truth values, or of text if they differ in type.
    """
    from tare.storage.frame import column, renamed

    known = {one.removeprefix(prefix) for one in taken if one.startswith(prefix)}
    named = renamed((name for one in every for name in one), "setting_", known)
    return {
        prefix + shown: column(prefix + shown, [one.get(name) for one in every])
        for name, shown in named.items()
    }


def frame(columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return `columns` as a frame with plain text, so that frames of all kinds can be joined by it."""
    import polars as pl

    return as_text(pl.DataFrame([one.alias(name) for name, one in columns.items()]))


def as_text(found: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose text, however it is stored, is plain text."""
    import polars as pl
    import polars.selectors as cs

    return found.with_columns(cs.by_dtype(pl.Categorical, pl.Enum).cast(pl.String))


def _column_type(annotation: object) -> type[pl.DataType]:
    """Return the type of the column of a field, None being a null: text unless it is a number."""
    import polars as pl

    known = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, Bounded: pl.Float64}
    for one in typing.get_args(annotation) or (annotation,):
        if one in known:
            return known[one]
    return pl.String


def _plain(value: object) -> Scalar | None:
    """Return a member of an enumeration as its word, and any number as one of Python."""
    if value is None or isinstance(value, (bool, int)):
        return value
    return float(value) if isinstance(value, float) else str(getattr(value, "value", value))
