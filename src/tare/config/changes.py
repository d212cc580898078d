"""Compare two versions of a file, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator

from tare.config.document import ListNode, MapNode, Node, ScalarNode, read_document
from tare.config.faults import Faults

_LONGEST = 80


def changed_entries(old: str, new: str) -> list[str]:
    """Return what changed from `old` to `new`: ``workloads.echo.command[2]: 'echo a', now 'echo b'``.

    The result is empty where only comments and layout changed, or where one of the two cannot be read.
    """
    trees = [read_document(text, Faults("")) for text in (old, new)]
    return list(_differing("", trees[0], trees[1])) if None not in trees else []


def _differing(path: str, old: Node | None, new: Node | None) -> Iterator[str]:
    if isinstance(old, MapNode) and isinstance(new, MapNode):
        for key in dict.fromkeys((*old.entries, *new.entries)):
            sides = [one.entries[key].value if key in one.entries else None for one in (old, new)]
            yield from _differing(f"{path}.{key}".lstrip("."), *sides)
    elif isinstance(old, ListNode) and isinstance(new, ListNode) and len(old.items) == len(new.items):
        for index, sides_ in enumerate(zip(old.items, new.items, strict=True)):
            yield from _differing(f"{path}[{index}]", *sides_)
    elif _written(old) != _written(new):
        yield f"{path}: {_written(old)}, now {_written(new)}"


def _written(node: Node | None) -> str:
    """Return a value on one line; text is quoted, so that a difference in blanks is visible."""
    match node:
        case None:
            return "not there"
        case ScalarNode(value=None):
            return "nothing"
        case ScalarNode(value=value):
            return _short(repr(value) if isinstance(value, str) else str(value).lower())
        case ListNode(items=items):
            return _short(f"[{', '.join(map(_written, items))}]")
        case MapNode(entries=entries):
            inner = ", ".join(f"{key}: {_written(one.value)}" for key, one in entries.items())
            return _short(f"{{{inner}}}")
    return "not there"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
