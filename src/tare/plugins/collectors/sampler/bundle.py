"""Build the program for the nodes: the sampler and its sources in one file, so nothing is installed there."""

from __future__ import annotations

import functools
from pathlib import Path

from tare.core.telemetry_sources import sources

_HERE = Path(__file__).parent


def source_texts() -> dict[str, str]:
    """Return the text of each source by the source's name."""
    files = {name: Path(source.__file__) for name, source in sources().items()}
    return {name: path.read_text(encoding="utf-8") for name, path in sorted(files.items())}


@functools.cache
def program() -> str:
    """Return the sampler as one program. It needs only Python 3.6 and its standard library."""
    parts = [(_HERE / name).read_text(encoding="utf-8") for name in ("readers.py", "node.py")]
    parts += [f"add_source({name!r}, {text!r})\n" for name, text in source_texts().items()]
    return "\n".join([*parts, "run()\n"])
