"""Runtime `pod`: start ranks directly in pods of a cluster, through a script that records where they run."""

from __future__ import annotations

import msgspec

from tare.core.launch import Invocation
from tare.core.site import Platform
from tare.plugins.backends.kubernetes.options import SCRIPTS


class Pod:
    """Starts ranks through a script of the pod, which records where they really run."""

    name = "pod"

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program`, started by the script, which finds it in the platform's folders of the image."""
        argv = ("sh", f"{SCRIPTS}/rank.sh", ":".join(platform.path), *program.argv)
        return msgspec.structs.replace(program, argv=argv)
