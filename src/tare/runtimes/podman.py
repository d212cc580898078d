"""Runtime `podman` (podman-run(1), podman-exec(1))."""

from __future__ import annotations

from tare.model.site import ContainerOptions
from tare.runtimes.engine import LABEL, Engine


class Podman(Engine):
    """Containers of podman, from images or root file systems."""

    name = "podman"

    # Hydra tells ranks of a socket by its number, and podman passes on only the first ones.
    # The shell is bash, since dash knows no file descriptors above 9.
    _run_script = (
        'if [ -n "$PMI_FD" ]; then exec 3<&"$PMI_FD"; PMI_FD=3; set -- --preserve-fds=1 "$@"; fi; '
        f'exec "$0" run --label "{LABEL}=$TARE_JOB" --env-host "$@"'
    )

    def _limits(self, options: ContainerOptions) -> list[str]:
        """Return the host's limits: podman would raise some, and fail without the right to.

        It takes them all from the host or none.
        """
        return super()._limits(options) or ["--ulimit", "host"]

    def _image(self, options: ContainerOptions) -> list[str]:
        if options.rootfs:
            return ["--rootfs", options.rootfs]
        return [options.image or ""]
