"""The reference as docs/generate.py writes it."""

from __future__ import annotations

import runpy
from pathlib import Path

_PROGRAM = Path(__file__).parents[2] / "docs/generate.py"


def reference() -> str:
    """Return what docs/reference.md should hold."""
    return str(runpy.run_path(str(_PROGRAM))["reference"]())
