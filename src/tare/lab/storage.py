"""The storage paths of a lab: one file server, whose folder all nodes mount over several networks.

A path with a rate models a gateway between a fabric and the storage: the server's link has the rate, and all
nodes share it. So the truth that a study should find is in the lab's specification.

The file system is sshfs(1) without ssh. The files are in memory, so that no disk limits the rate. Clients do
not cache attributes and names: the ranks on one node see at once what those on another have written.

Sources: sshfs(1), mount.fuse3(8), sftp-server(8).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tare.core.errors import LabError
from tare.core.site import LAB_STORAGE
from tare.lab.commands import Hosts, find_program, run
from tare.lab.topology import FILE_SERVER, Topology

CURE = "on Debian: apt install sshfs openssh-sftp-server; as root: modprobe fuse && chmod 666 /dev/fuse"
PORT = 7022
"""The TCP port of the file server."""

_DEVICE = Path("/dev/fuse")
_SFTP_SERVERS = tuple(
    Path(folder) / "sftp-server"
    for folder in ("/usr/lib/openssh", "/usr/libexec/openssh", "/usr/lib/ssh", "/usr/libexec")
)
_OPTIONS = (
    f"directport={PORT}",
    "dir_cache=no",
    "attr_timeout=0",
    "entry_timeout=0",
    "negative_timeout=0",
)
"""Mount options: plain TCP instead of ssh, and nothing cached that another node may change."""


def missing() -> list[str]:
    """Return what storage paths of a lab need and this machine lacks."""
    lacking = [] if find_program("sshfs") else ["sshfs"]
    lacking += [] if _sftp_server() else ["sftp-server"]
    return lacking + ([] if os.access(_DEVICE, os.R_OK | os.W_OK) else [f"{_DEVICE} that you may open"])


def bring_up(lab: Hosts, topology: Topology) -> None:
    """Start the file server, and mount each storage path on each node and pod.

    Raises LabError with what is missing, or with the reason why a path cannot be mounted.
    """
    server = _sftp_server()
    if (lacking := missing()) or server is None:
        raise LabError(
            f"storage paths of a lab need {', '.join(lacking)}, which this machine lacks; {CURE}, "
            "or leave 'storage' out of the lab"
        )
    folder = lab.folder / "files"
    run(lab, FILE_SERVER, ["mkdir", "-p", str(folder)])
    run(lab, FILE_SERVER, [sys.executable, "-P", "-m", "tare.lab.file_server", str(server), str(PORT)])
    for fabric in topology.fabrics:
        if fabric.storage is not None:
            address = next(port.address for port in fabric.ports if port.host == FILE_SERVER)
            for host in topology.clients:
                run(lab, host, mount_command(address, folder, Path(LAB_STORAGE) / fabric.storage))


def mount_command(address: str, folder: Path, target: Path) -> list[str]:
    """Return the command that mounts `folder` of the file server at `address` on `target`."""
    return ["sshfs", f"{address}:{folder}", str(target), "-o", ",".join(_OPTIONS)]


def _sftp_server() -> Path | None:
    return next((path for path in _SFTP_SERVERS if path.exists()), None)
