"""Write the manual pages, deploy/share/man/man1/*.1, from the code: `python docs/generate.py`.

Click writes the parts of a help text to a formatter; the one here writes roff, with macros of man(7). So
a page says what `--help` says. No page has a date: the same code makes the same page on any day.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from tare import __version__
from tare.cli.main import COMMANDS, make_group

MANUAL = Path(__file__).parents[1] / "deploy" / "share" / "man" / "man1"


class RoffFormatter(click.HelpFormatter):
    """What click says of a command, as roff."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the synopsis."""
        self.write_heading("synopsis")
        self.write(f".B {roff(prog)}\n{roff(args)}\n")

    def write_heading(self, heading: str) -> None:
        """Begin a section."""
        self.write(f'.SH "{roff(heading.upper())}"\n')

    def write_paragraph(self) -> None:
        """Write nothing: headings and paragraphs bring their own space."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; the lines of one that begins with `\\b` stay as they are, as in click."""
        paragraphs = re.split(r"\n[ \t]*\n", textwrap.dedent(text).strip("\n"))
        for number, paragraph in enumerate(paragraphs):
            self.write(".PP\n" if number else "")
            as_is, body = paragraph.lstrip().startswith("\b"), roff(paragraph.replace("\b\n", ""))
            flowing = re.sub(r"\n +", "\n", body.strip())
            self.write(f".nf\n{body}\n.fi\n" if as_is else f"{flowing}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms, each with its definition."""
        for term, definition in rows:
            self.write(f".TP\n\\fB{roff(term)}\\fR\n{roff(' '.join(definition.split()))}\n")


def roff(text: str) -> str:
    """Return text that roff prints as it is: its minus signs can be copied, and no line is a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^([.'])", r"\\&\1", escaped.replace("`", "\\(ga"), flags=re.MULTILINE)


def manual() -> dict[str, str]:
    """Return the manual pages by their file names."""
    group = make_group()
    with click.Context(group, info_name="tare") as context:
        return {
            f"{name}.1": page
            for name, page in _pages(group, "tare", context, "measure what a platform costs")
        }


def _pages(
    command: click.Command, name: str, context: click.Context, summary: str
) -> Iterator[tuple[str, str]]:
    below: list[str] = []
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            assert inner is not None
            below.append(f"{name}-{sub}")
            with click.Context(inner, info_name=sub, parent=context) as inside:
                said = COMMANDS[sub] if name == "tare" else inner.get_short_help_str(limit=1000)
                yield from _pages(inner, f"{name}-{sub}", inside, said)
    parent = [name.rpartition("-")[0]] if "-" in name else []
    yield name, _page(command, name, context, summary.rstrip("."), parent + below)


def _page(command: click.Command, name: str, context: click.Context, summary: str, others: list[str]) -> str:
    out = RoffFormatter(width=10_000)
    out.write('.\\" Generated from the code by "python docs/generate.py"; do not edit.\n')
    out.write(f'.TH "{roff(name.upper())}" 1 "" "tare {__version__}" "User Commands"\n')
    out.write_heading("name")
    out.write(f"{roff(name)} \\- {roff(summary)}\n")
    command.format_usage(context, out)
    out.write_heading("description")
    command.format_help_text(context, out)
    command.format_options(context, out)
    if command.epilog:
        out.write_heading("exit status" if "Exit codes" in command.epilog else "notes")
        command.format_epilog(context, out)
    if others:
        out.write_heading("see also")
        out.write(",\n".join(f"\\fB{roff(one)}\\fR(1)" for one in others) + "\n")
    return re.sub(r"\n{2,}", "\n", out.getvalue())


def write() -> None:
    """Write the pages, and remove those of commands that are no more."""
    MANUAL.mkdir(parents=True, exist_ok=True)
    pages = manual()
    for old in MANUAL.glob("*.1"):
        if old.name not in pages:
            old.unlink()
    for name, page in pages.items():
        (MANUAL / name).write_text(page)
