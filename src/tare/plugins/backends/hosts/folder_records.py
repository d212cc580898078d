"""Keep a record of each folder that runs have on hosts, so that those of a killed tare can be removed.

A record is a small file of this user in the state folder of the XDG Base Directory Specification, so it
outlives a restart of this machine. It is deleted when the folder is gone from the hosts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from tare.core.decoding import decode_json


class FolderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The folder `path` on hosts for the job of this label; `agent` reaches the hosts."""

    kind: ClassVar[str]
    """The name of the folder of such records."""

    label: str
    agent: tuple[str, ...]

    @property
    def path(self) -> str:
        """Return the path of the folder on its hosts."""
        raise NotImplementedError

    @classmethod
    def recorded(cls) -> list[tuple[Self, int]]:
        """Return the records of this kind, sorted by label, each with the user who owns it."""
        found = []
        for path in records_folder(cls.kind).glob("*.json"):
            with contextlib.suppress(OSError, msgspec.DecodeError):  # half written, or deleted meanwhile
                found.append((decode_json(path.read_bytes(), type=cls), path.lstat().st_uid))
        return sorted(found, key=lambda one: one[0].label)

    def write(self) -> None:
        """Write the record. If that fails, the folder is still removed unless this process is killed."""
        with contextlib.suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_bytes(msgspec.json.encode(self))

    def delete(self) -> None:
        """Delete the record, because the folder is gone."""
        self.file.unlink(missing_ok=True)

    @property
    def file(self) -> Path:
        """Return where this record is kept."""
        name = hashlib.blake2b(f"{self.label}{self.path}".encode(), digest_size=8).hexdigest()
        return records_folder(self.kind) / f"{name}.json"


def records_folder(kind: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the records of a kind."""
    state = environment.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local/state"
    return base / "tare" / kind
