"""The words of Vega-Lite that the charts are written in, as they stand in its JSON.

Each function returns a part of a specification (https://vega.github.io/vega-lite/docs/); the tests hold every
kind of chart against Vega-Lite's schema.
"""

from __future__ import annotations

import dataclasses

Spec = dict[str, object]
"""A part of a chart, as Vega-Lite reads it."""

Row = dict[str, object]
"""One mark of a chart: the values that its channels take."""


@dataclasses.dataclass(frozen=True)
class Chart:
    """The grammar of one panel, and its rows by the name under which the grammar finds them."""

    grammar: Spec
    rows: dict[str, list[Row]]


def layer(data: str, mark: Spec, encoding: Spec, where: str | None = None) -> Spec:
    """Return one layer: a mark for each row of `data`, or for those of which `where` holds."""
    found: Spec = {"data": {"name": data}, "mark": mark, "encoding": encoding}
    return found | {"transform": [{"filter": where}]} if where else found


def quantity(field: str, **more: object) -> Spec:
    """Return a channel that carries a number of each row."""
    return {"field": field, "type": "quantitative", **more}


def name(field: str, **more: object) -> Spec:
    """Return a channel that carries a word of each row."""
    return {"field": field, "type": "nominal", **more}


def end(field: str) -> Spec:
    """Return the other end of what has two, such as a band: x2 or y2."""
    return {"field": field}


COLOUR = name("colour", scale=None)
SHAPE = name("shape", scale=None)


def tooltip(*fields: tuple[str, str]) -> list[Spec]:
    """Return what is shown under the pointer: fields of a row, and what they are called."""
    return [name(field, title=title) for field, title in fields]
