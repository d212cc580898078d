"""The reference is what the code says today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_PRINT = "import runpy, sys; sys.stdout.write(runpy.run_path(sys.argv[1])['reference']())"


def test_the_reference_is_current() -> None:
    """In a process of its own: click keeps the help of a command as its first caller saw it."""
    done = subprocess.run(
        [sys.executable, "-c", _PRINT, str(DOCS / "generate.py")], capture_output=True, text=True, check=True
    )
    assert (DOCS / "reference.md").read_text() == done.stdout, "run: python docs/generate.py"
