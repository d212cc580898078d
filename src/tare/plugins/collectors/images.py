"""Facts about the container image or root file system in which a platform's ranks run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from tare.core.site import Platform
from tare.plugins.collectors.secrets import redact
from tare.plugins.collectors.source import Facts, Records, Source

_RELEASE = "/etc/os-release"
DPKG = "/var/lib/dpkg/status"
"""dpkg's list of packages in a root file system."""
_PACKAGES = (DPKG, "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed")

_MPIS = {"libopenmpi": "Open MPI", "libmpich": "MPICH"}
"""The beginning of the name of the package that holds an MPI's library (Debian, Ubuntu), and the MPI."""
_LIBRARY = re.compile(r"(libopenmpi|libmpich)[0-9]+(t64)?")
_UPSTREAM = re.compile(r"(?:[0-9]+:)?([0-9]+(?:\.[0-9]+)+)")
"""The version of the program in that of its package (deb-version(7))."""


def sources_of(platform: Platform) -> tuple[str, ...]:
    """Return the files of a host that describe the content of the platform's root file system."""
    if platform.container is None or platform.container.rootfs is None:
        return ()
    return tuple(platform.container.rootfs.rstrip("/") + path for path in (_RELEASE, *_PACKAGES))


def container_facts(platform: Platform, texts: Mapping[str, str], image_digest: str = "") -> dict[str, str]:
    """Return the container's image and shape. `texts` are the texts of the files of `sources_of`.

    A root file system has no digest of its own, so the digest of its list of installed packages is used.
    """
    options = platform.container
    if options is None:
        return {}
    facts = {
        "platform.image": redact(options.source),
        "platform.shape": f"a container a {options.shape.value}",
        "platform.container_network": options.network,
    }
    for path, text in texts.items():
        if path.endswith(_PACKAGES):
            image_digest = "packages:" + hashlib.sha256(text.encode()).hexdigest()
    return facts | ({"platform.image_digest": image_digest} if image_digest else {})


def installed_mpis(status: Iterable[str]) -> dict[str, str]:
    """Return the MPIs in the lines of dpkg's list of packages: name and version, and the package of each.

    Example: ``{"Open MPI 5.0.7": "libopenmpi40 5.0.7-1"}``. Packages that were removed are left out.
    """
    found: dict[str, str] = {}
    package = ""
    is_installed = False
    for line in status:
        key, _, value = line.rstrip("\n").partition(": ")
        if key == "Package":
            package, is_installed = value, False
        elif key == "Status":
            is_installed = value.endswith(" installed")
        elif key == "Version" and is_installed:
            name, upstream = _LIBRARY.fullmatch(package), _UPSTREAM.match(value)
            if name and upstream:
                found[f"{_MPIS[name[1]]} {upstream[1]}"] = f"{package} {value}"
    return found


def _read(records: Records) -> Facts:
    facts = {}
    for line in records.get("release", "").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            facts["platform.image_distribution"] = value.strip("\"'")
    mpis = installed_mpis(records.get("mpi", "").splitlines())
    if mpis:
        facts["platform.image_mpi"] = ", ".join(f"{name} ({package})" for name, package in mpis.items())
    return facts


SOURCE = Source(
    "images",
    f"""
[ -n "$rootfs" ] || exit 0
record release
cat "$rootfs{_RELEASE}"
record mpi
awk '/^(Package|Status|Version): /' "$rootfs{DPKG}" | grep -A 2 -E '^Package: (libopenmpi|libmpich)[0-9]'
""",
    _read,
    order=110,
)
"""What a root file system holds. The nodes have it, also where a batch system chooses them."""
