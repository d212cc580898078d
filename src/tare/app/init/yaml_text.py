"""Write YAML in which each line may say where it comes from, in a comment. Pure.

Names of others, such as those of partitions, are quoted where YAML would read them as anything but text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import yaml

from tare.core.visible_text import visible_line

_PLAIN = re.compile(r"[A-Za-z0-9/][A-Za-z0-9_./+-]*")
_WIDTH = 110


def scalar(value: object) -> str:
    """Return a text, number or truth value as YAML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and yaml.safe_load(text) == text:
        return text
    return str(yaml.safe_dump(text, default_style='"', width=float("inf"), allow_unicode=True)).strip()


def flow(value: object) -> str:
    """Return a value as YAML on one line: ``{launcher: srun, path: [/usr/bin]}``."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def line(text: str, comment: str = "", indent: int = 0, *, is_off: bool = False) -> list[str]:
    """Return a line with its comment: behind it where there is room, else above.

    A line that `is_off` is itself a comment, which is left to the reader.
    """
    blank = " " * indent
    shown = f"{blank}# {text}" if is_off else f"{blank}{text}"
    note = visible_line(comment)
    if not note:
        return [shown]
    if len(shown) + len(note) + 4 <= _WIDTH:
        return [f"{shown}    # {note}"]
    return [f"{blank}# {note}", shown]
