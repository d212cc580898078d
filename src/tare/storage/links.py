"""Give a file a second name in a campaign, so that evidence is not copied."""

from __future__ import annotations

from pathlib import Path

from tare.core.safe_folder import SafeFolder


def linked(path: Path, target: SafeFolder) -> bool:
    """Make `target` another name of the file `path` (link(2)); return whether that was possible.

    It is not on another file system, for another user's file (proc_sys_fs(5)), or beyond so many links.
    """
    try:
        target.link(path)
    except OSError:
        return False
    return True
