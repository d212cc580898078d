"""Templates and static files of the live server; its style sheet extends the report's."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping, Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

from tare.core.attempt import State
from tare.core.counting import count
from tare.core.units import format_bytes
from tare.core.verdict import verdicts
from tare.live.view import LETTERS, SIGNS
from tare.report.charts.palette import CONTENDERS, INK, sign_of
from tare.report.words.changes import sign_legend
from tare.report.words.numbers import number, visible

STATIC = {
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "style.css": "text/css; charset=utf-8",
}
"""The files that pages load: name and media type. No other file of the package is served."""


def render(template: str, values: Mapping[str, object]) -> str:
    """Return the HTML of a template with `values`; every value is escaped."""
    return _environment().get_template(template).render(states=tuple(State), **values)


@functools.cache
def static(name: str) -> str:
    """Return the text of a file of STATIC; the style sheet is the report's, followed by `live.css`."""
    folder = resources.files("tare.live") / "static"
    if name != "style.css":
        return (folder / name).read_text(encoding="utf-8")
    sheet = _environment("tare.report.formats", "").get_template("style.css")
    return sheet.render(colours=_variant_colours()) + (folder / "live.css").read_text(encoding="utf-8")


@functools.cache
def _environment(package: str = "tare.live", folder: str = "templates") -> Environment:
    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"verdicts": verdicts(), "sign_legend": sign_legend()}
    environment.filters |= {
        "sign": sign_of,
        "sign_of_state": SIGNS.__getitem__,
        "letter": LETTERS.__getitem__,
        "count": count,
        "number": number,
        "size": format_bytes,
        "visible": visible,
        "shell": _shell,
    }
    return environment


def _shell(argv: Sequence[str]) -> str:
    return shlex.join(argv)


def _variant_colours() -> list[tuple[int, str, str]]:
    """Return an index and the light and dark colour of up to 65 variants; the report's palette repeats."""
    tones = [INK, *(CONTENDERS[index % len(CONTENDERS)] for index in range(64))]
    return [(index, tone.light, tone.dark) for index, tone in enumerate(tones)]
