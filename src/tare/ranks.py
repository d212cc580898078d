"""Which rank a process is: one shell function, which every script that ranks run begins with. Pure."""

from __future__ import annotations

from pathlib import Path


def with_rank(script: str) -> str:
    """Return `script` behind the function ``find_rank``, which sets ``rank`` (see ranks.sh)."""
    return Path(__file__).with_name("ranks.sh").read_text() + script
