"""Whether a user wants colour at all; it is asked before anything else of the command line is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping


def is_refused(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a terminal must stay plain: NO_COLOR (https://no-color.org), or one that is dumb."""
    return bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
