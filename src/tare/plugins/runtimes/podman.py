"""Runtime `podman` (podman-run(1), podman-exec(1))."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from tare.core.job_label import KEEPER_VARIABLE, VARIABLE
from tare.core.launch import CONTAINER_LABEL as LABEL
from tare.core.site import ContainerOptions
from tare.plugins.runtimes.engine import Engine
from tare.plugins.runtimes.variables import print_passed

_LIMIT = (
    'limit() { l=$(ulimit "$1"); read -r m <"/proc/sys/$2"; '
    '[ "$l" != unlimited ] && [ "$l" -lt "$m" ] && echo "$l" || echo "$m"; }; '
)
"""Says the limit on this host, at most what its kernel knows, to which podman lowers its own."""

_LIMITS = " ".join(
    f'--ulimit "{name}=$(limit -S{letter} {most}):$(limit -H{letter} {most})"'
    for name, letter, most in (("nofile", "n", "fs/nr_open"), ("nproc", "u", "kernel/pid_max"))
)


class Podman(Engine):
    """Containers of podman, from images or root file systems."""

    name = "podman"

    # Podman would raise these limits, also where it has no right to, and start nothing.
    _prologue = _LIMIT
    _given = f"--http-proxy=false {_LIMITS}"  # the addresses of proxies may hold passwords

    def _run_script(self, names: Iterable[str]) -> str:
        # Conmon, which watches the container, gets only LC_* of the environment.
        # Hydra tells ranks of a socket by its number, and podman passes on only the first ones.
        # The shell is bash, since dash knows no file descriptors above 9.
        return (
            f"{_LIMIT}"
            'if [ -n "$PMI_FD" ]; then exec 3<&"$PMI_FD"; PMI_FD=3; set -- --preserve-fds=1 "$@"; fi; '
            f'{KEEPER_VARIABLE}="${VARIABLE}" exec "$0" run --label "{LABEL}=${VARIABLE}" '
            f'{print_passed(names)} {self._given} "$@"'
        )

    def _make_room(self, container: str) -> str:
        """Return what removes a container that podman has not written down, since it was killed before."""
        name = shlex.quote(container)
        return f'"$0" container exists {name} || "$0" rm --force {name} >/dev/null 2>&1; '

    def _image(self, options: ContainerOptions) -> list[str]:
        if options.rootfs:
            return ["--rootfs", options.rootfs]
        return [options.image or ""]
