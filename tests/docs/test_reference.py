"""The reference and the manual pages are what the code says today."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
_PRINT = "import runpy, sys; sys.stdout.write(runpy.run_path(sys.argv[1])['reference']())"


def test_the_reference_is_current() -> None:
    """In a process of its own: click keeps the help of a command as its first caller saw it."""
    done = subprocess.run(
        [sys.executable, "-c", _PRINT, str(DOCS / "generate.py")], capture_output=True, text=True, check=True
    )
    assert (DOCS / "reference.md").read_text() == done.stdout, "run: python docs/generate.py"


_MANUAL = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); import manual; json.dump(manual.manual(), sys.stdout)"
)
MANUAL = DOCS.parent / "deploy" / "share" / "man" / "man1"


def test_the_manual_pages_are_current() -> None:
    """In a process of its own, as above."""
    done = subprocess.run(
        [sys.executable, "-c", _MANUAL, str(DOCS)], capture_output=True, text=True, check=True
    )
    pages = json.loads(done.stdout)
    assert {one.name: one.read_text() for one in MANUAL.glob("*")} == pages, "run: python docs/generate.py"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed: apt install groff")
def test_the_manual_pages_have_no_error_of_roff_and_say_what_help_says() -> None:
    pages = sorted(MANUAL.glob("*.1"))
    command = ["groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8", *map(str, pages)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr
    page = str(MANUAL / "tare-lab-exec.1")
    command = ["groff", "-man", "-Kutf8", "-Tascii", "-P-cbou", page]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "  tare lab exec n1 -- ping -c 1 n2.overlay\n" in shown  # minus signs that can be copied
    assert "--name TEXT" in shown
