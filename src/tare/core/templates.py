"""Placeholders such as ``{ranks}`` in the words of a command that a study gives. Pure.

``{name}`` is a setting or a parameter of the case. The names in LATER are known only when a run starts. A
doubled brace stands for the brace itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache

from tare.core.errors import nearest_name
from tare.core.study import DESIGN_SETTINGS
from tare.core.units import write_number
from tare.core.values import Scalar, Settings

LATER = ("work", "storage", "storage_path", "hosts")
"""Placeholders that are filled in when a run starts (see core.workload.Stage); here they are kept."""

TOKEN = re.compile(r"(\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_]*\}|[{}])")
_MOST_UNKNOWN = 20


def template_faults(where: str, text: str, names: Collection[str], later: tuple[str, ...]) -> Iterator[str]:
    """Yield why placeholders of `text` cannot be filled from the settings `names`, each with its cure."""
    n_unknown = 0
    for token in dict.fromkeys(TOKEN.findall(text)):
        name = token.strip("{}")
        if token in {"{", "}"}:
            yield f"{where}: a single {token!r} stands for nothing; write {token * 2!r} for the character"
        elif not name or name in later or (name in names and name not in LATER):
            continue
        elif name in LATER:
            yield f"{where}: {token} is not known when files are written; hand it over in the command or env"
        elif name in DESIGN_SETTINGS:
            yield f"{where}: the case has no {name}; set '{name}' in the study, or leave {token} out"
        else:
            n_unknown += 1
            if n_unknown <= _MOST_UNKNOWN:
                cure = _nearest(name, names, later)
                yield f"{where}: {token} is neither a parameter nor a setting; {cure}"
    if n_unknown > _MOST_UNKNOWN:
        yield f"{where}: {n_unknown - _MOST_UNKNOWN} more placeholders are neither a parameter nor a setting"


def _nearest(name: str, names: Collection[str], later: tuple[str, ...]) -> str:
    known = sorted({*names, *later})
    near = nearest_name(name, known)
    more = f", … ({len(known) - _MOST_UNKNOWN} more)" if len(known) > _MOST_UNKNOWN else ""
    return f"did you mean {{{near}}}?" if near else f"use one of {', '.join(known[:_MOST_UNKNOWN])}{more}"


def fill(text: str, values: Settings) -> str:
    """Return `text` with its placeholders filled from `values`, except those that are filled later."""
    return "".join([part if name is None else _written(values[name]) for part, name in _parts(text)])


@cache
def _parts(text: str) -> tuple[tuple[str, str | None], ...]:
    """Return the parts of a template: each a text to keep, with None, or a placeholder, with its setting."""
    return tuple(_part(token) for token in TOKEN.split(text) if token)


def _part(token: str) -> tuple[str, str | None]:
    if token in {"{{", "}}"}:
        return token[0], None
    if not TOKEN.fullmatch(token) or token in {"{", "}"} or token.strip("{}") in LATER:
        return token, None
    return token, token.strip("{}")


def _written(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return write_number(value) if isinstance(value, float) else str(value)
