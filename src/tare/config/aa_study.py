"""Turn the text of a study into that of its A/A study."""

from __future__ import annotations

from tare.config.document import MapNode, read_document
from tare.config.faults import Faults


def as_aa_study(text: str, file_name: str) -> str:
    """Return `text`, a valid study, with ``twins: true`` as its first entry.

    Everything else stays as written, including comments. A text that has the entry already is returned
    unchanged. Raises FileFaults when it cannot be read.
    """
    faults = Faults(file_name)
    root = read_document(text, faults)
    faults.raise_any()
    if not isinstance(root, MapNode) or not root.entries or "twins" in root.entries:
        return text
    first = min((entry.line, entry.column) for entry in root.entries.values())
    line, column = first
    start = sum(map(len, text.splitlines(keepends=True)[: line - 1])) + column - 1
    before, after = text[:start], text[start:]
    is_flow = before.rstrip().endswith("{")
    return f"{before}twins: true{', ' if is_flow else chr(10) + ' ' * (column - 1)}{after}"
