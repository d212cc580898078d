"""The folder of the user's cache, for what takes long to make and is always the same."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return Tare's folder in the user's cache (XDG Base Directory 0.8)."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home.startswith("/") else Path("~/.cache").expanduser()) / "tare"
