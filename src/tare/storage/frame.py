"""Turn a campaign into tidy rows: one for each measurement, with all that is known of it as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.collection import no_collection
from tare.core.plan import Plan
from tare.core.values import Scalar
from tare.core.workload import Better

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 1
"""Increases when a column changes its name or its meaning; a new column does not increase it."""

RUN_COLUMNS = ("schema_version", "campaign", "case", "block", "attempt", "session", "state", "started_at")
VALUE_COLUMNS = ("fom", "unit", "better", "value")


class _Rows(msgspec.Struct):
    """Measurements gathered column by column.

    Item i of `heads` belongs to `lengths[i]` consecutive `values`. Each list of `coordinates` is as long as
    `values`.
    """

    heads: list[tuple[Attempt, Series]]
    lengths: list[int]
    values: list[float]
    coordinates: dict[str, list[Scalar | None]]


@no_collection()
def tidy(campaign: Campaign) -> pl.DataFrame:
    """Return every measurement of every attempt as one row, in the order of the journal.

    Rows of warm-up blocks (0 and below) and of attempts that do not count are included; `block` and `state`
    show which they are. A setting whose name is that of a run or value column becomes ``setting_…``. A
    coordinate whose name is taken becomes ``at_…``. A column whose values differ in type is text. Text is
    polars' Categorical, so that a million rows take some hundred megabytes.
    """
    import numpy as np
    import polars as pl

    rows = _gather(campaign.attempts)
    settings = settings_frame(campaign.plan)
    heads = pl.DataFrame(_head_columns(campaign, rows.heads)).join(
        settings, on="case", how="left", maintain_order="left"
    )
    named = renamed(rows.coordinates, "at_", {*RUN_COLUMNS, *VALUE_COLUMNS, *settings.columns})
    coordinates = [column(named[name], values) for name, values in rows.coordinates.items()]
    which = np.repeat(np.arange(len(rows.lengths)), rows.lengths)
    return heads[which].select(
        *(pl.col(name).cast(pl.Categorical) if name == "case" else name for name in RUN_COLUMNS),
        *(name for name in settings.columns if name != "case"),
        *coordinates,
        *(name for name in VALUE_COLUMNS if name != "value"),
        pl.Series("value", rows.values, pl.Float64),
    )


def _gather(attempts: Iterable[Attempt]) -> _Rows:
    rows = _Rows([], [], [], {})
    for attempt in attempts:
        for series in (*attempt.series, *attempt.telemetry_series):
            n_before = len(rows.values)
            rows.heads.append((attempt, series))
            rows.lengths.append(len(series.values))
            rows.values.extend(series.values)
            for name, column in series.at.items():
                known = rows.coordinates.setdefault(name, [])
                known.extend([None] * (n_before - len(known)))  # earlier series lack this coordinate
                known.extend(column)
    for known in rows.coordinates.values():
        known.extend([None] * (len(rows.values) - len(known)))
    return rows


def _head_columns(campaign: Campaign, heads: Sequence[tuple[Attempt, Series]]) -> list[pl.Series]:
    """Return one row for each series: what all of its measurements share."""
    import polars as pl

    attempts = [attempt for attempt, _ in heads]
    states, directions = [str(state) for state in State], [str(better) for better in Better]
    started = pl.Series([one.started_at for one in attempts], dtype=pl.Float64)
    started_at = pl.from_epoch((started * 1000).cast(pl.Int64), time_unit="ms").dt.cast_time_unit("us")
    return [
        pl.Series("schema_version", [SCHEMA_VERSION] * len(heads), pl.Int32),
        pl.Series(
            "campaign",
            [campaign.pseudonyms.only(campaign.folder.resolve().name)] * len(heads),
            pl.Categorical,
        ),
        pl.Series("case", [one.case for one in attempts], pl.String),
        pl.Series("block", [one.block for one in attempts], pl.Int32),
        pl.Series("attempt", [one.attempt for one in attempts], pl.Int32),
        pl.Series("session", [one.session for one in attempts], pl.Int32),
        pl.Series("state", [str(one.state) for one in attempts], pl.Enum(states)),
        started_at.dt.replace_time_zone("UTC").alias("started_at"),
        pl.Series("fom", [series.fom for _, series in heads], pl.Categorical),
        pl.Series("unit", [series.unit for _, series in heads], pl.Categorical),
        pl.Series(
            "better", [series.better and str(series.better) for _, series in heads], pl.Enum(directions)
        ),
    ]


def settings_frame(plan: Plan) -> pl.DataFrame:
    """Return one row for each case: its id and its settings, in the order in which cases name them."""
    import polars as pl

    settings = [case.settings for case in plan.cases]
    names = list(dict.fromkeys(name for one in settings for name in one))
    named = renamed(names, "setting_", {*RUN_COLUMNS, *VALUE_COLUMNS})
    ids = pl.Series("case", [case.id for case in plan.cases], pl.String)  # frames are joined by it
    return pl.DataFrame([ids, *(column(named[name], [one.get(name) for one in settings]) for name in names)])


def renamed(names: Iterable[str], prefix: str, taken: Collection[str]) -> dict[str, str]:
    """Return a column for each name: with `prefix` where the bare name is `taken`, once or more.

    No two names have one column, also where one is called like another with its prefix.
    """
    distinct = list(dict.fromkeys(names))
    used = {*taken, *distinct}
    found = {}
    for name in distinct:
        shown = name
        while name in taken and shown in used:
            shown = prefix + shown
        used.add(shown)
        found[name] = shown
    return found


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def column(name: str, values: Sequence[Scalar | None]) -> pl.Series:
    """Return values as one column: numbers as numbers, truth values as such, everything else as text.

    Whole numbers that do not fit into 64 bits become text, so that no value changes.
    """
    import polars as pl

    types = {type(value) for value in values} - {type(None)}
    if any(isinstance(value, int) and not _LEAST <= value <= _MOST for value in values):
        types = {str}
    if types == {bool}:
        return pl.Series(name, values, pl.Boolean)
    if types == {int}:
        return pl.Series(name, values, pl.Int64)
    if types and types <= {int, float}:
        return pl.Series(name, values, pl.Float64)
    return pl.Series(name, [None if value is None else _text(value) for value in values], pl.Categorical)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
