"""Runtime `docker` (docker-run(1), docker-exec(1))."""

from __future__ import annotations

from collections.abc import Iterable

from tare.core.containers import ContainerOptions
from tare.core.errors import UsageError
from tare.core.job_label import VARIABLE
from tare.core.launch import CONTAINER_LABEL as LABEL
from tare.core.launch import Invocation
from tare.core.site import Platform
from tare.plugins.runtimes.engine import Engine
from tare.plugins.runtimes.variables import print_passed

_BY_SOCKET = frozenset({"intelmpi", "mpich"})


class Docker(Engine):
    """Containers of docker, from images.

    They are children of its daemon, not of the process that starts them.
    """

    name = "docker"

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` in a container of its own (see core.launch.Runtime)."""
        if platform.launcher in _BY_SOCKET:
            raise UsageError(
                f"docker cannot hand a rank the socket by which {platform.launcher} talks to it; use "
                "'shape: node', or an Open MPI"
            )
        return super().wrap(program, platform, folder)

    def _run_script(self, names: Iterable[str]) -> str:
        passed = print_passed(names, without=["HOME"])
        return f'exec "$0" run --label "{LABEL}=${VARIABLE}" {passed} "$@"'

    def _image(self, options: ContainerOptions) -> list[str]:
        if options.rootfs:
            raise UsageError(
                f"docker takes images only; make one with: tar -C {options.rootfs} -c . | docker import - "
                "NAME"
            )
        return [options.image or ""]
