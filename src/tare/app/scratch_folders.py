"""Folders in which a site is tried: made where the user is, since the nodes of a site share that folder."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tare.core.errors import STORAGE_FAULTS, InfrastructureError


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a folder in `parent` that exists while entered.

    Raises InfrastructureError where `parent` takes no folder, or its file system no files.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix=".tare-doctor.", dir=parent)
    except OSError as error:
        raise _refusal(parent, error) from error
    with made as name:
        try:
            yield Path(name)
        except OSError as error:
            if error.errno not in STORAGE_FAULTS:
                raise
            raise _refusal(parent, error) from error


def _refusal(parent: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        f"{parent}: cannot write: {error.strerror}; the site is tried in a folder that is made here: change "
        "to a folder that takes files, and that all nodes can read"
    )
