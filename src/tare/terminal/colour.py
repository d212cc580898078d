"""Find out whether the user refuses colour; importable before the rest of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping


def is_refused(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether output must have no colour: NO_COLOR is set (https://no-color.org), or TERM is dumb."""
    return bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
