"""Facts about the container image or root file system in which a platform's ranks run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from tare.core.site import Platform
from tare.plugins.collectors.secrets import redact

_RELEASE = "/etc/os-release"
_PACKAGES = ("/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed")


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
        if path.endswith(_RELEASE):
            facts |= _distribution(text)
        elif path.endswith(_PACKAGES):
            image_digest = "packages:" + hashlib.sha256(text.encode()).hexdigest()
    return facts | ({"platform.image_digest": image_digest} if image_digest else {})


def _distribution(text: str) -> dict[str, str]:
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return {"platform.image_distribution": value.strip("\"'")}
    return {}
