"""Runtime `podman` (podman-run(1), podman-exec(1))."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from tare.core.containers import ContainerOptions
from tare.core.job_label import KEEPER_VARIABLE, VARIABLE
from tare.core.launch import CONTAINER_LABEL as LABEL
from tare.plugins.runtimes.engine import Engine
from tare.plugins.runtimes.variables import print_passed

_LIMIT = (
    'limit() { l=$(ulimit "$1"); read -r m <"/proc/sys/$2"; '
    '[ "$l" != unlimited ] && [ "$l" -lt "$m" ] && echo "$l" || echo "$m"; }; '
)
"""Prints the limit on this host, at most the kernel's maximum, to which podman lowers its own limit."""

_LIMITS = " ".join(
    f'--ulimit "{name}=$(limit -S{letter} {most}):$(limit -H{letter} {most})"'
    for name, letter, most in (("nofile", "n", "fs/nr_open"), ("nproc", "u", "kernel/pid_max"))
)


class Podman(Engine):
    """Containers of podman, from images or root file systems."""

    name = "podman"

    # Podman would try to raise these limits, also without permission, and then fail to start.
    _prologue = _LIMIT
    _given = f"--http-proxy=false {_LIMITS}"  # proxy addresses may hold passwords

    def _run_script(self, names: Iterable[str]) -> str:
        # Conmon, the container's monitor process, gets only LC_* of the environment.
        # Hydra gives ranks a socket by its number, and podman passes on only the first ones.
        # The shell is bash, because dash has no file descriptors above 9.
        return (
            f"{_LIMIT}"
            'if [ -n "$PMI_FD" ]; then exec 3<&"$PMI_FD"; PMI_FD=3; set -- --preserve-fds=1 "$@"; fi; '
            f'{KEEPER_VARIABLE}="${VARIABLE}" exec "$0" run --label "{LABEL}=${VARIABLE}" '
            f'{print_passed(names)} {self._given} "$@"'
        )

    def _free_name(self, container: str) -> str:
        """Return shell text that removes a container that podman lost track of because it was killed."""
        name = shlex.quote(container)
        return f'"$0" container exists {name} || "$0" rm --force {name} >/dev/null 2>&1; '

    def _image(self, options: ContainerOptions) -> list[str]:
        if options.rootfs:
            return ["--rootfs", options.rootfs]
        return [options.image or ""]
