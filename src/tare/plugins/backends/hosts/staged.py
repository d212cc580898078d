"""Keep folders that were copied to hosts on record until they are gone (see folder_records)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tare.plugins.backends.hosts.commands import HostCommands
from tare.plugins.backends.hosts.folder_records import FolderRecord


class Staged(FolderRecord, frozen=True, kw_only=True):
    """A folder `place` on `hosts` for the job of this label."""

    kind = "staged"

    hosts: tuple[str, ...]
    place: str

    @property
    def path(self) -> str:
        """Return the path of the folder on its hosts (see FolderRecord)."""
        return self.place


@contextlib.contextmanager
def on_record(staged: Staged, remove: Callable[[], bool]) -> Iterator[None]:
    """Keep `staged` on record while entered. At the end, call `remove`; delete the record if it succeeds.

    `remove` returns whether the folder is gone from every host.
    """
    staged.write()
    try:
        yield
    finally:
        if remove():
            staged.delete()


def remove(staged: Staged) -> bool:
    """Remove a folder from its hosts.

    Return whether it is gone from all of them; then its record is deleted, too.
    """
    reach = HostCommands(staged.agent, os.environ)
    try:
        is_gone = reach.transfer(staged.hosts, Path(staged.place)).remove()
    finally:
        reach.close()
    if is_gone:
        staged.delete()
    return is_gone
