"""Write the measurements of a campaign as CSV, JSON or Parquet, one row for each."""

from __future__ import annotations

import enum
import io
import re
from typing import IO, TYPE_CHECKING

from tare.core.campaign import Campaign
from tare.core.visible_text import visible_json, visible_line
from tare.storage.frame import tidy

if TYPE_CHECKING:
    import polars as pl

_JSON_SCHEMA = "tare.export/1"
_TIME = "%Y-%m-%dT%H:%M:%S%.3fZ"
_ROWS_AT_ONCE = 50_000
_FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]inf", re.ASCII)


class Format(enum.StrEnum):
    """The formats that `tare export` writes."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def export(campaign: Campaign, form: Format, out: IO[bytes]) -> None:
    """Write every measurement of `campaign` to `out`, which need not be seekable.

    CSV follows RFC 4180, with times as in RFC 3339 and text as `cell` makes it. JSON is one object with one
    row on each line. Parquet is compressed with zstd. CSV and JSON are written piece by piece. Raises OSError
    as `out` does.
    """
    frame = tidy(campaign)
    if form is Format.CSV:
        _write_csv(frame, out)
    elif form is Format.JSON:
        _write_json(frame, out)
    else:
        out.write(_parquet(frame))


# polars makes text and bytes, and Python writes them: polars' own writers turn a closed pipe
# or a full disk into errors without an errno.


def cell(text: str) -> str:
    """Return text as a cell of a table that no spreadsheet reads as a formula.

    Text that begins like a formula gets an apostrophe in front, unless it is a number. Control characters,
    and characters that reorder text, are shown as visible characters: RFC 4180 allows neither.
    """
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{visible_line(text)}" if is_formula else visible_line(text)


def _write_csv(frame: pl.DataFrame, out: IO[bytes]) -> None:
    frame = _with_cells(frame)
    out.write(frame.clear().write_csv().encode())
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        out.write(part.write_csv(include_header=False, datetime_format=_TIME).encode())


def _with_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return `frame` with all text, including the header, written as `cell` does."""
    import polars as pl

    changed = []
    for column in frame.iter_columns():
        if column.dtype in (pl.String, pl.Categorical):
            text = column.unique().drop_nulls().cast(pl.String)
            cells = {one: cell(one) for one in text if cell(one) != one}
            if cells:
                changed.append(column.cast(pl.String).replace(cells))
    names = {name: cell(name) for name in frame.columns}
    return frame.with_columns(changed).rename(names if len(set(names.values())) == len(names) else {})


def _write_json(frame: pl.DataFrame, out: IO[bytes]) -> None:
    out.write(f'{{"schema":"{_JSON_SCHEMA}","rows":['.encode())
    separator = b"\n"
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        if len(part):
            rows = visible_json(part.write_ndjson().rstrip("\n").replace("\n", ",\n"))
            out.write(separator + rows.encode())
            separator = b",\n"
    out.write(b"\n]}\n")


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
