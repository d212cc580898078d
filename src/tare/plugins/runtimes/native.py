"""Runtime `native`: ranks run on the host as they are."""

from __future__ import annotations

from tare.core.launch import Invocation
from tare.core.site import Platform


class Native:
    """Wraps nothing around a rank."""

    name = "native"
    takes_container = False

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` as it is."""
        return program
