"""Write the tables for a paper, in LaTeX with booktabs; numbers use siunitx if the document loads it."""

from __future__ import annotations

import re
from pathlib import Path

from tare.core.verdict import Verdict, verdicts
from tare.report.content import Content
from tare.report.escaping import latex
from tare.report.formats.changes import change_rows
from tare.report.formats.templates import Plain, text_environment
from tare.report.sections.environment import Surroundings
from tare.report.sections.overview import HeatMapCell, Overview
from tare.report.sections.trust import ResultQuality

NAME = "tables.tex"

_NUMBER = re.compile(r"[+−-]?\d+(?:\.\d+)?")


def render_latex(found: Content, template: Path | None = None) -> str:
    """Return the tables of `found` as the text of a file to ``\\input``."""
    environment = text_environment(template, latex, marks="<%<<")
    environment.filters["change"] = change
    environment.filters["plain"] = Plain
    overview = found.part(Overview)
    variants, rows = change_rows(overview.maps if overview else ())
    return environment.get_template(NAME).render(
        found=found,
        overview=overview,
        quality=found.part(ResultQuality),
        surroundings=found.part(Surroundings),
        contenders=variants,
        rows=rows,
        label=_label(found.study),
    )


def change(cell: HeatMapCell | None) -> Plain:
    """Return a cell as LaTeX: symbol, number and interval, in percent, with each number as ``\\num``.

    A verdict is followed by its remarks: a mark, and what its blocks may have missed.
    """
    if cell is None:
        return Plain(r"\textperiodcentered{}")
    if cell.paint == "missing":
        return Plain("--")
    interval = f" {cell.interval}" if cell.interval.startswith("[") else ""
    text = f"{cell.number.rstrip('%').rstrip()}{interval}"
    parts = _NUMBER.split(text)
    numbers = (rf"\num{{{one.replace('−', '-')}}}" for one in _NUMBER.findall(text))
    numbered = latex(parts[0]) + "".join(a + latex(b) for a, b in zip(numbers, parts[1:], strict=True))
    settled = f" ({cell.settling})" if cell.settling and cell.sign != Verdict.UNDECIDED.sign else ""
    sign = next((one.look.latex for one in verdicts() if one.sign == cell.sign), latex(cell.sign))
    return Plain(rf"{sign}~{numbered}{latex(cell.mark)}{latex(settled)}")


def _label(study: str) -> Plain:
    """Return the name of a study as part of a label, which can have only letters, digits and hyphens."""
    return Plain(re.sub(r"[^A-Za-z0-9]+", "-", study).strip("-") or "campaign")
