"""Keep a record of folders that were copied to hosts, so that the folders of a killed tare can be removed.

A record is a small file of this user in the state folder of the XDG Base Directory Specification, so it
outlives a restart of this machine. It is deleted when the folder is gone from the hosts. The guard of a dead
runner calls ``python -m tare.plugins.backends.hosts.staged LABEL``, which removes what that runner left.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from tare.plugins.backends.hosts.commands import HostCommands
from tare.plugins.backends.ownership.sessions import Fate, judge


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """A folder `place` on `hosts` for the job of this label. `agent` reaches the hosts."""

    label: str
    agent: tuple[str, ...]
    hosts: tuple[str, ...]
    place: str


def records_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the records."""
    state = environment.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local/state"
    return base / "tare" / "staged"


@contextlib.contextmanager
def on_record(staged: Staged, remove: Callable[[], bool]) -> Iterator[None]:
    """Keep `staged` on record while entered. At the end, call `remove`; delete the record if it succeeds.

    `remove` returns whether the folder is gone from every host. If no record can be written, the folder is
    still removed at the end, unless this process is killed.
    """
    path = _path_of(staged)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(staged))
    try:
        yield
    finally:
        if remove():
            path.unlink(missing_ok=True)


def recorded() -> list[tuple[Staged, int]]:
    """Return the folders on record, sorted by label, each with the user who owns the record."""
    found = []
    for path in records_folder().glob("*.json"):
        with contextlib.suppress(OSError, msgspec.DecodeError):  # half written, or deleted meanwhile
            found.append((msgspec.json.decode(path.read_bytes(), type=Staged), path.lstat().st_uid))
    return sorted(found, key=lambda one: one[0].label)


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
        _path_of(staged).unlink(missing_ok=True)
    return is_gone


def _path_of(staged: Staged) -> Path:
    name = hashlib.blake2b(f"{staged.label}{staged.place}".encode(), digest_size=8).hexdigest()
    return records_folder() / f"{name}.json"


def main() -> None:
    """Remove what a runner left, found by its session's label. Do nothing while the runner is alive."""
    session = sys.argv[1]
    for one, owner in recorded():
        if one.label.startswith(session) and judge(one.label, owner).fate is Fate.DEAD:
            remove(one)


if __name__ == "__main__":
    main()
