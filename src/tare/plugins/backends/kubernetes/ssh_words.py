"""Recognize the messages of ssh and sshd about a worker that cannot be reached, and give a cure. Pure.

The messages are those of OpenSSH (ssh.c, auth.c, sshconnect2.c) and of nologin(8).
"""

from __future__ import annotations

from typing import NamedTuple

_ACCOUNT = (
    "add 'passwd: true' to the platform's 'kubernetes', or let group 0 write to /etc/passwd of the image "
    "(chgrp 0 /etc/passwd && chmod g=u /etc/passwd)"
)
_CURES = {
    "No user exists for uid": _ACCOUNT,
    "account is currently not available": _ACCOUNT,
    "Permission denied (": "see that the home of the pods' user is the platform's 'home', and that the image "
    "has its shell; the worker's log has sshd's words",
    "Host key verification failed": "leave host keys unchecked in the image's ssh_config",
}
"""Messages of faults that waiting does not cure, and their cures."""


class Unreached(NamedTuple):
    """A worker that ssh did not reach, and the last message about it."""

    host: str
    said: str

    @property
    def is_final(self) -> bool:
        """Return whether another attempt would fail in the same way."""
        return any(words in self.said for words in _CURES)

    def __str__(self) -> str:
        cure = next((cure for words, cure in _CURES.items() if words in self.said), "")
        if not self.said:
            return f"no ssh to {self.host} within 120 s"
        return f"no ssh to {self.host}: {self.said}" + (f"; {cure}" if cure else "")
