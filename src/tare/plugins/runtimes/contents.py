"""Options of a platform that all container runtimes read."""

from __future__ import annotations

from typing import NamedTuple

from tare.core.containers import ContainerOptions, ContainerShape
from tare.core.errors import UsageError
from tare.core.site import Platform


class Bind(NamedTuple):
    """A path of the host, its path inside the container, and whether it is read-only there."""

    source: str
    target: str
    is_read_only: bool = False


def options_of(runtime: str, platform: Platform) -> ContainerOptions:
    """Return the platform's container options. Raises UsageError when it has none."""
    if platform.container is None:
        raise UsageError(
            f"runtime {runtime} needs a container; add 'container: {{image: …}}' or '{{rootfs: …}}'"
        )
    return platform.container


def binds_of(runtime: str, options: ContainerOptions, folder: str | None = None) -> tuple[Bind, ...]:
    """Return the platform's binds, then the working folder, if there is one, at its own path.

    Raises UsageError for a folder that no runtime can bind.
    """
    own = () if folder is None else (own_path(runtime, folder),)
    return (*(parse_bind(text) for text in options.binds), *own)


def own_path(runtime: str, path: str) -> Bind:
    """Return a bind of `path` at the same path. Raises UsageError if the path cannot be written as a bind."""
    if ":" in path:
        raise UsageError(f"{runtime} takes ':' in {path!r} for the end of a path; choose an --out without it")
    return Bind(path, path)


def parse_bind(text: str) -> Bind:
    """Parse ``SOURCE[:TARGET[:ro]]``."""
    source, _, rest = text.partition(":")
    target, _, mode = rest.partition(":")
    return Bind(source, target or source, mode == "ro")


def require_host_resources(runtime: str, options: ContainerOptions) -> None:
    """Raise UsageError for options of a runtime that has no containers of its own beside the ranks.

    It starts no long-lived containers, and always shares shared memory and limits with its host.
    """
    if options.shape is ContainerShape.NODE:
        raise UsageError(
            f"{runtime} has no containers that stay; use 'shape: rank', or the runtime podman or docker"
        )
    if options.shm_bytes is not None:
        raise UsageError(f"{runtime} always has the host's /dev/shm; remove 'shm'")
    if options.is_memlock_unlimited:
        raise UsageError(f"{runtime} always has the host's limits; remove 'memlock', and raise the host's")
