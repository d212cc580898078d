"""A folder of each attempt's own on its storage path: who gives it, and what it is called."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tare.core.attempt import Attempt


class OwnStorage(Protocol):
    """Gives attempts folders of their own on storage paths, and takes them back."""

    def own(
        self, folder: str, hosts: Sequence[str | None], label: str, *, is_open: bool
    ) -> AbstractContextManager[None]:
        """Keep `folder`, which was not there before, on each of `hosts` while this is entered.

        Everybody may write to it where it `is_open`. `label` is that of the attempt's processes. Raises
        StorageError where it cannot be made, BackendError where a host cannot be reached.
        """
        ...


def owner_of(label: str, attempt: Attempt) -> str:
    """Return the name of an attempt among all that may use a storage path.

    `label` is that of the session of `tare run` (see backends.sessions), which no other process of
    this machine has, now or later; with the machine's name it is hashed.
    """
    whose = hashlib.blake2b(f"{socket.gethostname()}:{label}".encode(), digest_size=6).hexdigest()
    return f"{whose}-{attempt.case}-{attempt.block}.{attempt.attempt}"
