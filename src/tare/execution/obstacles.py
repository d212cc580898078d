"""Tell what a program left in the place of Tare's own files from a file system that takes no more files."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.errors import OBSTACLES


def with_obstacle(attempt: Attempt, folder: Path, error: OSError) -> Attempt | None:
    """Return `attempt` as invalid if `error` comes from what its case left in the campaign `folder`.

    A program may make a folder where Tare writes a file, or replace the folder that it runs in. This is no
    reason to stop the runs of others. Returns None for any other error, such as a full disk.
    """
    own = folder / Path(attempt.folder).parent
    place = Path(os.fsdecode(error.filename or ""))
    if error.errno not in OBSTACLES or not place.is_relative_to(own):
        return None
    if not os.access(own.parent, os.W_OK | os.X_OK):
        return None
    reason = f"{place.relative_to(folder)} cannot be written: {error.strerror}"
    return msgspec.structs.replace(attempt, state=State.INVALID, reason=reason, check="output")
