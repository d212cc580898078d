"""Write tidy rows as CSV, JSON or Parquet."""

from __future__ import annotations

import enum
from typing import IO, TYPE_CHECKING

from tare.model.campaign import Campaign
from tare.store.frame import tidy

if TYPE_CHECKING:
    import polars as pl

_JSON_SCHEMA = "tare.export/1"
_ROWS_AT_ONCE = 50_000


class Format(enum.StrEnum):
    """What `tare export` writes."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def export(campaign: Campaign, form: Format, out: IO[bytes]) -> None:
    """Write every measurement of `campaign` to `out`, which need not be seekable.

    CSV as in RFC 4180, with times as in RFC 3339; JSON as one object with one row a line, written
    piece by piece; Parquet compressed with zstd.
    """
    frame = tidy(campaign)
    if form is Format.CSV:
        frame.write_csv(out, datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")
    elif form is Format.JSON:
        _write_json(frame, out)
    else:
        frame.write_parquet(out)


def _write_json(frame: pl.DataFrame, out: IO[bytes]) -> None:
    out.write(f'{{"schema":"{_JSON_SCHEMA}","rows":['.encode())
    separator = b"\n"
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        if len(part):
            out.write(separator + part.write_ndjson().rstrip("\n").replace("\n", ",\n").encode())
            separator = b",\n"
    out.write(b"\n]}\n")
