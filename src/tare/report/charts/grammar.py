"""The parts of Vega-Lite specifications from which the charts are made, as in Vega-Lite's JSON.

Each function returns a part of a specification (https://vega.github.io/vega-lite/docs/). The tests validate
every kind of chart against Vega-Lite's schema.
"""

from __future__ import annotations

import dataclasses

Spec = dict[str, object]
"""A part of a Vega-Lite specification."""

Row = dict[str, object]
"""The data of one mark of a chart: the values of its channels."""


@dataclasses.dataclass(frozen=True)
class Chart:
    """The specification of one panel, and its rows by the data name that the specification uses."""

    grammar: Spec
    rows: dict[str, list[Row]]


def layer(data: str, mark: Spec, encoding: Spec, where: str | None = None) -> Spec:
    """Return one layer: a mark for each row of `data`, or for those rows for which `where` is true."""
    found: Spec = {"data": {"name": data}, "mark": mark, "encoding": encoding}
    return found | {"transform": [{"filter": where}]} if where else found


def quantity(field: str, **more: object) -> Spec:
    """Return a channel for a number in each row."""
    return {"field": field, "type": "quantitative", **more}


def name(field: str, **more: object) -> Spec:
    """Return a channel for a text in each row."""
    return {"field": field, "type": "nominal", **more}


def end(field: str) -> Spec:
    """Return the channel x2 or y2, the second end of a mark such as a band."""
    return {"field": field}


COLOUR = name("colour", scale=None)
SHAPE = name("shape", scale=None)


def tooltip(*fields: tuple[str, str]) -> list[Spec]:
    """Return the tooltip of a mark from pairs of a row's field and its title."""
    return [name(field, title=in_expression(title)) for field, title in fields]


def in_expression(text: str) -> str:
    """Return `text` for a place of which Vega-Lite makes a string in an expression of Vega.

    Vega-Lite 6 puts it between quotes and escapes only the quotes in it. A newline, or a backslash before a
    quote, would end the string, and what follows would be part of the expression.
    """
    return text.replace("\\", "\\\\").replace("\n", "\\n")
