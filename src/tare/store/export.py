"""Write tidy rows as CSV, JSON or Parquet."""

from __future__ import annotations

import enum
import io
from typing import IO, TYPE_CHECKING

from tare.model.campaign import Campaign
from tare.store.frame import tidy

if TYPE_CHECKING:
    import polars as pl

_JSON_SCHEMA = "tare.export/1"
_TIME = "%Y-%m-%dT%H:%M:%S%.3fZ"
_ROWS_AT_ONCE = 50_000


class Format(enum.StrEnum):
    """What `tare export` writes."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def export(campaign: Campaign, form: Format, out: IO[bytes]) -> None:
    """Write every measurement of `campaign` to `out`, which need not be seekable.

    CSV as in RFC 4180, with times as in RFC 3339; JSON as one object with one row a line; Parquet
    compressed with zstd. CSV and JSON are written piece by piece. Raises OSError as `out` does.
    """
    frame = tidy(campaign)
    if form is Format.CSV:
        _write_csv(frame, out)
    elif form is Format.JSON:
        _write_json(frame, out)
    else:
        out.write(_parquet(frame))


# polars makes text and bytes, and Python writes them: polars' own writers turn a reader that has gone
# or a full disk into errors without an errno.


def _write_csv(frame: pl.DataFrame, out: IO[bytes]) -> None:
    out.write(frame.clear().write_csv().encode())
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        out.write(part.write_csv(include_header=False, datetime_format=_TIME).encode())


def _write_json(frame: pl.DataFrame, out: IO[bytes]) -> None:
    out.write(f'{{"schema":"{_JSON_SCHEMA}","rows":['.encode())
    separator = b"\n"
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        if len(part):
            out.write(separator + part.write_ndjson().rstrip("\n").replace("\n", ",\n").encode())
            separator = b",\n"
    out.write(b"\n]}\n")


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
