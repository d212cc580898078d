"""Set up docker in the lab: a daemon on each host that needs one, in that host's namespaces.

Containers are children of the daemon. So only a host's own daemon can create containers that share the host's
network and names. All daemons are in the lab's PID namespace and end with it; their files are in a tmpfs.

Sources: dockerd(8), docker-import(1).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tare.core.errors import LabError
from tare.lab import containers, rootfs
from tare.lab.commands import Hosts, find_program

PROGRAMS = ("docker", "dockerd", "containerd", "runc")
CURE = "on Debian: apt install docker.io"

IMAGES = "tare/"
"""The prefix of images that are root file systems: ``tare/debian`` is $TARE_ROOTFS/debian."""

_TIMEOUT_S = 120.0  # on a busy machine; it takes 3 s on a quiet one, most of them for the image
_LONGEST = (
    64  # below it are sockets such as d/x/containerd/containerd-debug.sock; they have 107 bytes (unix(7))
)
_SCRIPT = Path(__file__).with_name("dockerd.sh")


def environment(folder: Path) -> dict[str, str]:
    """Return the variable by which docker finds its host's daemon in the lab whose folder is `folder`."""
    return {"DOCKER_HOST": f"unix://{_home(folder)}/s"}


def missing() -> list[str]:
    """Return the programs that docker in the lab needs and that this machine lacks."""
    return [name for name in PROGRAMS if find_program(name) is None]


def bring_up(lab: Hosts, hosts: Sequence[str], images: Iterable[str]) -> None:
    """Start a daemon on each of `hosts` that has none, and load those of `images` that the lab makes.

    Raises LabError with the reason of each failure.
    """
    if os.geteuid() != 0:
        raise LabError("Docker's daemon needs root; start a lab with docker as root, or use charliecloud")
    if lacking := missing():
        raise LabError(f"docker needs {', '.join(lacking)}, which this machine lacks; {CURE}")
    if len(str(lab.folder)) > _LONGEST:
        raise LabError(
            f"{lab.folder} is too long for paths of docker's sockets; set XDG_RUNTIME_DIR to a short path"
        )
    sources = [f"{name}={_source(name)}" for name in dict.fromkeys(images) if name.startswith(IMAGES)]
    containers.forget_cgroups()
    containers.favour()
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    words = ["env", f"PATH={path}", "sh", str(_SCRIPT), str(_home(lab.folder)), *sources]
    starting = {
        host: subprocess.Popen(
            lab.command(host, words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
        )
        for host in hosts
    }
    problems = [f"{host}: {message}" for host, process in starting.items() if (message := _finish(process))]
    if problems:
        raise LabError(f"docker does not come up in the lab: {'; '.join(problems)}")


def known_images() -> list[str]:
    """Return the images that the lab can make here, one from each root file system."""
    folder = rootfs.rootfs_folder()
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [
        f"{IMAGES}{path.name}" for path in found if not path.name.startswith(".") and rootfs.is_built(path)
    ]


def _source(image: str) -> Path:
    path = rootfs.rootfs_folder() / image.removeprefix(IMAGES)
    if not rootfs.is_built(path):
        raise LabError(f"image {image} needs a root file system; run: tare lab rootfs --name {path.name}")
    return path


def _finish(process: subprocess.Popen[str]) -> str:
    """Return why a daemon did not start; empty if it did."""
    try:
        _, message = process.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"no answer within {_TIMEOUT_S:g} s"
    return (message.strip() or f"exit code {process.returncode}") if process.returncode != 0 else ""


def _home(folder: Path) -> Path:
    return folder / "d"
