"""Write the report as one HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.units import format_bytes
from tare.report.charts.figures import Figure
from tare.report.charts.palette import dark_by_light, sign_of, tone_of
from tare.report.charts.scripts import chart_scripts
from tare.report.content import Content
from tare.report.evidence import MOST_RUNS, pack, pack_all
from tare.report.evidence import PAGE_LIMIT as EVIDENCE_LIMIT
from tare.report.formats.tables import figure_csv, table_csv
from tare.report.formats.templates import html_environment
from tare.report.listing import MOST_ROWS
from tare.report.section import SectionTable
from tare.report.sections.runs import Runs, by_urgency
from tare.report.words.numbers import exact_percent, number, percent, ratio, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PAGE_LIMIT = 4_300_000
"""The most characters of a page without its tables: small enough to be mailed."""

MOST_ITEMS = 30
"""The most sentences of one list."""

MOST_NUMBERS = 500
"""The most rows of the table behind a figure."""

MOST_SCALINGS = 4
"""The most workloads whose scaling is shown at once; for the others, a reader has to click."""

_ROW_SIZE = 60
"""The approximate number of characters that a packed run takes in the page."""

_POINT_SIZE = 180
"""The approximate number of characters that a point of a chart takes in the link to its CSV."""

_JOINTS = re.compile(r"(?<=[._/])(?=\w)|(?<=[a-z])(?=[A-Z])")


def render(
    campaign: Campaign,
    found: Content,
    template: Path | None = None,
    home: str = "..",
    live: Callable[[], str] = chart_scripts,
) -> str:
    """Return the page as HTML.

    `home` is the relative path from the page to the campaign folder, and `live` returns Vega's scripts.
    Raises jinja2.TemplateError.
    """
    environment = _environment(template)
    scripts = [_script(text) for text in _scripts(environment, found, live)]
    specs = pack([figure.specs for figure in found.figures])
    pictures = sum(len(figure.picture.svg) for figure in found.figures) * 4 // 3
    downloads = sum(_POINT_SIZE * min(len(figure.points), MOST_NUMBERS) for figure in found.figures)
    runs = found.part(Runs)
    rows = _ROW_SIZE * len(runs.rows) if runs else 0
    carried = sum(map(len, (*scripts, specs))) + pictures + downloads + rows
    headroom = max(0, min(EVIDENCE_LIMIT, PAGE_LIMIT - carried))
    return environment.get_template("template.html").render(
        found=found,
        home=home,
        style=_raw(environment.get_template("style.css").render(colours=_variant_colours(found))),
        scripts=[_raw(text) for text in scripts],
        hashes=" ".join(f"'sha256-{_digest(text)}'" for text in scripts),
        specs=json_block(specs),
        dark=json_block(dark_by_light()),
        evidence=json_block(pack_all(by_urgency(campaign), campaign.folder, headroom, campaign.pseudonyms)),
    )


def json_block(value: object) -> Markup:
    """Return `value` as JSON that is safe inside a script element, for any content of its strings.

    ``<``, ``>`` and ``&`` are escaped, so that no ``</script>`` or ``<!--`` can end or change the element
    (HTML, 4.12.1.3 Restrictions for contents of script elements).
    """
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _raw(text)


def picture(figure: Figure) -> str:
    """Return a figure as a data URI; as an image, its ids and scripts cannot conflict with the page's."""
    return "data:image/svg+xml;base64," + base64.b64encode(figure.picture.svg.encode()).decode("ascii")


def numbers(shown: Figure | SectionTable) -> str:
    """Return the numbers of a figure or of a table as a data URI of CSV, for a link that downloads them."""
    text = figure_csv(shown) if isinstance(shown, Figure) else table_csv(shown)
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode("ascii")


def filename(text: str) -> str:
    """Return `text` as part of the name of a file on any system."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60] or "campaign"


def breakable(text: str) -> Markup:
    """Return `text` escaped, with optional line breaks inside long names of programs and settings."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in _JOINTS.split(text))


def _environment(template: Path | None) -> Environment:
    environment = html_environment(template)
    environment.globals |= {
        "most_evidence": MOST_RUNS,
        "most_numbers": MOST_NUMBERS,
        "most_rows": MOST_ROWS,
        "most_items": MOST_ITEMS,
        "most_scalings": MOST_SCALINGS,
    }
    environment.filters |= {
        "picture": picture,
        "sign": sign_of,
        "count": count,
        "number": number,
        "exact_percent": exact_percent,
        "percent": functools.partial(percent, is_signed=False),
        "ratio": ratio,
        "size": format_bytes,
        "packed": lambda rows: json_block(pack(rows)),
        "visible": visible,
        "breakable": breakable,
        "numbers": numbers,
        "filename": filename,
    }
    return environment


def _scripts(environment: Environment, found: Content, live: Callable[[], str]) -> list[str]:
    own = environment.get_template("page.js").render()
    return [live(), own] if found.figures else [own]


def _script(text: str) -> str:
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _raw(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704  # our own files and escaped JSON only


def _variant_colours(found: Content) -> list[tuple[int, str, str]]:
    return [(variant.index, tone_of(variant).light, tone_of(variant).dark) for variant in found.variants.all]
