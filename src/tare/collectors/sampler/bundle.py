"""The program that goes to nodes: the sampler and its sources as one file, so nothing is installed there."""

from __future__ import annotations

import functools
from pathlib import Path

_HERE = Path(__file__).parent


def source_texts() -> dict[str, str]:
    """Return the text of each source by its name."""
    files = sorted((_HERE / "sources").glob("[a-z]*.py"))
    return {path.stem: path.read_text(encoding="utf-8") for path in files}


@functools.cache
def program() -> str:
    """Return the sampler as one program, of Python 3.6 and its standard library."""
    parts = [(_HERE / "node.py").read_text(encoding="utf-8")]
    parts += [f"add_source({name!r}, {text!r})\n" for name, text in source_texts().items()]
    return "\n".join([*parts, "run()\n"])
