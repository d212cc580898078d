"""Runtime `docker` (docker-run(1), docker-exec(1))."""

from __future__ import annotations

from tare.errors import UsageError
from tare.model.launch import CONTAINER_LABEL as LABEL
from tare.model.launch import Invocation
from tare.model.site import ContainerOptions, Platform
from tare.runtimes.engine import Engine

_NAMES = 'BEGIN { for (n in ENVIRON) if (n ~ /^[A-Za-z_][A-Za-z0-9_]*$/ && n != "HOME") print "--env=" n }'

_BY_SOCKET = frozenset({"intelmpi", "mpich"})


class Docker(Engine):
    """Containers of docker, from images: children of its daemon, and not of who asks for them."""

    name = "docker"

    # Docker passes on only variables that it is named; their values it reads from its own environment.
    _run_script = f'exec "$0" run --label "{LABEL}=$TARE_JOB" $(awk \'{_NAMES}\') "$@"'

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        """Return `program` in a container of its own (see model.Runtime)."""
        if platform.launcher in _BY_SOCKET:
            raise UsageError(
                f"docker cannot hand a rank the socket by which {platform.launcher} talks to it; use "
                "'shape: node', or an Open MPI"
            )
        return super().wrap(program, platform, folder)

    def _image(self, options: ContainerOptions) -> list[str]:
        if options.rootfs:
            raise UsageError(
                f"docker takes images only; make one with: tar -C {options.rootfs} -c . | docker import - "
                "NAME"
            )
        return [options.image or ""]
