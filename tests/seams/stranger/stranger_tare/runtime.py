"""A runtime of a stranger's: ranks are in no container, but nice."""

from __future__ import annotations

from tare.core.launch import Invocation
from tare.core.site import Platform


class Niced:
    """Wraps nice(1) around a rank. It makes no container, so a site gives it no image."""

    name = "niced"
    takes_container = False

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` behind nice (see model.Runtime)."""
        return Invocation(argv=("nice", "-n", "1", *program.argv), env=program.env)
