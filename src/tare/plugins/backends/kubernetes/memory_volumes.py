"""The memory of a node that pods mount: /dev/shm, and huge pages. Pure."""

from __future__ import annotations

from tare.plugins.backends.kubernetes.objects import EmptyDir, Mount, Volume
from tare.plugins.backends.kubernetes.options import KubernetesOptions

_SHM, _HUGE = "/dev/shm", "/dev/hugepages"  # noqa: S108  # paths in the pod


def volumes(options: KubernetesOptions) -> tuple[Volume, ...]:
    """Return the volumes of a pod whose program runs with these options."""
    shm, pages = options.shm_bytes, options.hugepages
    found = [Volume(name="shm", empty_dir=EmptyDir(medium="Memory", size_limit=str(shm)))] if shm else []
    found += [Volume(name=_name(size), empty_dir=EmptyDir(medium=f"HugePages-{size}")) for size in pages]
    return tuple(found)


def mounts(options: KubernetesOptions) -> tuple[Mount, ...]:
    """Return the mounts: pages of one size at /dev/hugepages, or a folder for each of several sizes."""
    found = [Mount(name="shm", mount_path=_SHM)] if options.shm_bytes else []
    several = len(options.hugepages) > 1
    found += [
        Mount(name=_name(size), mount_path=f"{_HUGE}-{size}" if several else _HUGE)
        for size in options.hugepages
    ]
    return tuple(found)


def requests(options: KubernetesOptions) -> dict[str, str]:
    """Return the huge pages that such a pod requests (core/v1, ResourceHugePagesPrefix)."""
    return {f"hugepages-{size}": str(amount) for size, amount in options.hugepages.items()}


def _name(size: str) -> str:
    return f"hugepages-{size.lower()}"
