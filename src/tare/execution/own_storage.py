"""The folder that each attempt has on its storage path: the protocol that provides it, and its name."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tare.core.attempt import Attempt


class OwnStorage(Protocol):
    """Makes the folders of attempts on storage paths, and removes them afterwards."""

    def own(
        self, folder: str, hosts: Sequence[str | None], label: str, *, is_open: bool
    ) -> AbstractContextManager[None]:
        """Return a context in which the new folder `folder` exists on each of `hosts`.

        If `is_open`, everybody may write to it. `label` is the job label of the attempt's processes. Raises
        StorageError if the folder cannot be made, BackendError if a host cannot be reached.
        """
        ...


def owner_of(label: str, attempt: Attempt) -> str:
    """Return a name of the attempt that is unique among all users of a storage path.

    It contains a hash of this machine's name and of `label`. `label` is that of the session of `tare run`
    (see plugins.backends.ownership.sessions), which no other process of this machine ever has.
    """
    whose = hashlib.blake2b(f"{socket.gethostname()}:{label}".encode(), digest_size=6).hexdigest()
    return f"{whose}-{attempt.case}-{attempt.block}.{attempt.attempt}"
