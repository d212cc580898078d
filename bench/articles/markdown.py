"""The parts of Markdown that the articles' pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MADE = "<!-- Made by 'make articles' from charts.toml and results.json. Edit those, not this page. -->"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, ending with a line break; text in its cells is escaped where it would end a cell."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
