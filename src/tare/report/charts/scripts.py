"""The scripts that draw charts in a browser; they are bundled once per version of vl-convert."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import tempfile
from pathlib import Path

VEGALITE = "6.4"
"""The version of Vega-Lite for which charts are written, as vl-convert names it."""

_EXPORT = "window.vegaEmbed = vegaEmbed;"


@functools.cache
def chart_scripts() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that fetches nothing from the network.

    Bundling takes more than a second of CPU and always gives the same result. So the result is kept in the
    user's cache.
    """
    kept = _cache_folder() / f"vega-{VEGALITE}-{importlib.metadata.version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if text := kept.read_text(encoding="utf-8"):
            return text
    text = _bundle()
    with contextlib.suppress(OSError):  # a home that is not writable only costs a second each time
        _keep(text, kept)
    return text


def _bundle() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(_EXPORT, vl_version=VEGALITE)
    return bundle


def _keep(text: str, path: Path) -> None:
    """Write a file atomically; no other user can change it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def _cache_folder() -> Path:
    """Return Tare's folder in the user's cache (XDG Base Directory 0.8)."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home.startswith("/") else Path("~/.cache").expanduser()) / "tare"
