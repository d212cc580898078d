"""Runtime `native`: ranks run directly on the host."""

from __future__ import annotations

from tare.core.launch import Invocation
from tare.core.site import Platform


class Native:
    """Runs a rank without a container."""

    name = "native"
    takes_container = False

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` unchanged."""
        return program
