"""Runtime `charliecloud`: ch-run, which needs no root (ch-run(1))."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tare.core.errors import UsageError
from tare.core.launch import Invocation
from tare.core.site import Platform
from tare.plugins.runtimes.contents import Bind, binds_of, options_of, require_host_resources
from tare.plugins.runtimes.variables import exec_without_others

_SCRIPT = 'export USER="${USER:-$(id -un)}"; '
"""ch-run refuses to start without USER, which batch systems and containers may leave unset."""


class Charliecloud:
    """Runs a rank in its own user and mount namespaces, and in the host's other namespaces.

    The host's /dev, /proc, /sys and /tmp are visible inside. The rank gets only permitted variables of the
    host's environment.
    """

    name = "charliecloud"

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` inside ch-run (see core.launch.Runtime)."""
        options = options_of(self.name, platform)
        require_host_resources(self.name, options)
        if options.network != "host":
            raise UsageError(f"{self.name} always has the host's network; remove 'network'")
        binds = binds_of(self.name, options, folder)
        if written := next((bind for bind in binds if bind.is_read_only), None):
            raise UsageError(f"{self.name} can bind nothing read-only; remove ':ro' from {written.source}")
        start = [options.program or "ch-run"]
        if options.rootfs:
            start.append("--write")  # only then are missing bind targets created
        start += [f"--bind={bind.source}:{bind.target}" for bind in binds]
        script = _SCRIPT + (_make_targets(options.rootfs, binds, start) if options.rootfs else "")
        argv = ["sh", "-c", script + exec_without_others(program.env), *start]
        argv += [f"--cd={folder}", *options.options, options.source, "--", *program.argv]
        # PMIx's default access to its server's shared memory is forbidden across user namespaces.
        return Invocation(argv=tuple(argv), env={"PMIX_MCA_gds": "hash", **program.env})


def _make_targets(rootfs: str, binds: Sequence[Bind], start: Sequence[str]) -> str:
    """Return shell text that has ch-run make missing bind targets, one rank after another.

    ch-run fails where another rank makes the same folder at the same moment ("can't mkdir: File exists").
    """
    are_there = " && ".join(f"[ -e {shlex.quote(f'{rootfs}/{bind.target}')} ]" for bind in binds)
    make = shlex.join(["flock", rootfs, *start, rootfs, "--", "/bin/true"])
    return f"{{ {are_there}; }} || {make} >/dev/null 2>&1; "
