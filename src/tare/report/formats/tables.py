"""Write the measured values, and the numbers behind each chart, as CSV (RFC 4180)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from tare.report.charts.figures import Figure
from tare.report.section import SectionTable
from tare.report.value_tables import ValueTable
from tare.storage.export import cell

NAME = "values.csv"

_VALUE_COLUMNS = (
    "problem",
    "step",
    "side",
    "fom",
    "at",
    "unit",
    "better",
    "value",
    "low",
    "high",
    "cv",
    "minimum",
    "maximum",
    "blocks",
    "is_best",
)
_POINT_COLUMNS = ("panel", "figure", "side", "along", "x", "at", "value", "low", "high", "unit", "blocks")


def values_csv(tables: Iterable[ValueTable]) -> str:
    """Return every measured value with its interval, one row for each variant and figure."""
    return written(
        _VALUE_COLUMNS,
        (
            (
                table.problem,
                row.step,
                variant.name,
                row.fom,
                row.at,
                row.unit,
                row.better,
                one.value,
                one.low,
                one.high,
                one.cv,
                one.minimum,
                one.maximum,
                one.n_blocks,
                "yes" if variant in row.best else "no",
            )
            for table in tables
            for row in table.rows
            for variant, one in row.estimates.items()
        ),
    )


def figure_csv(figure: Figure) -> str:
    """Return every point of a figure, with the ends of its interval."""
    return written(
        _POINT_COLUMNS,
        (
            (
                panel.title,
                panel.subtitle,
                line.variant.name,
                panel.x,
                point.x,
                point.at,
                point.y,
                point.low,
                point.high,
                panel.unit,
                point.n_blocks,
            )
            for panel, line, point in figure.points
        ),
    )


def table_csv(table: SectionTable) -> str:
    """Return a table of a section as it is shown."""
    head = [one.text for one in table.head]
    return written(head, ([one.text for one in row] for row in table.rows))


def written(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV; numbers have all their digits, and no text acts as a formula in a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([cell(one) for one in head])
    for row in rows:
        writer.writerow([cell(str(one)) if isinstance(one, str) else one for one in row])
    return out.getvalue()
