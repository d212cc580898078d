"""Build the images of real pods as archives, from Debian packages and PyPI's MPIs, without a registry."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kubelab import image_mpis
from kubelab.processes import KubelabError

PACKAGES = "TARE_KUBELAB_PACKAGES"
"""The variable that names further Debian packages of the image."""
PAUSE, MPI = "docker.io/kubelab/pause:1", "docker.io/kubelab/mpi:1"

_SUITE = "bookworm"
_PACKAGES = ("openmpi-bin", "openssh-server", "openssh-client", "hpcc", "iperf3", "iproute2", "python3")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SOURCES = Path(__file__).parent
_UNUSED = ("usr/share/man", "usr/share/doc", "usr/share/locale")
_RECORD = "mpi.packages.txt"
_SETTINGS = {
    "etc/ssh/ssh_config.d/mpi.conf": (
        "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
    ),
    "etc/ssh/sshd_config.d/mpi.conf": "StrictModes no\nPermitRootLogin yes\n",
}


class Images(NamedTuple):
    """The archives: the image that holds a pod, and the image that runs MPI in it."""

    pause: Path
    mpi: Path


def packages() -> tuple[str, ...]:
    """Return the Debian packages of the image, with those that TARE_KUBELAB_PACKAGES names."""
    return (*_PACKAGES, *sorted(os.environ.get(PACKAGES, "").split()))


def folder() -> Path:
    """Return the folder of the images; each state of their sources has its own."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    content = (_SUITE, packages(), _UNUSED, _SETTINGS, *image_mpis.identity())
    digest = hashlib.blake2b(repr(content).encode(), digest_size=8)
    digest.update((_SOURCES / "pause.c").read_bytes())
    return cache / "tare" / "kubelab" / f"images-{digest.hexdigest()}"


def images() -> Images:
    """Return the images, and build those that are missing. Raises KubelabError.

    Debian packages have the versions of the day, which mpi.packages.txt beside the images lists.
    """
    home = folder()
    home.mkdir(parents=True, exist_ok=True)
    made = Images(home / "pause.tar", home / "mpi.tar")
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path, build in zip(made, (_build_pause, _build_mpi), strict=True):
            if not path.exists():
                with tempfile.TemporaryDirectory(dir=home) as scratch:
                    built = build(Path(scratch))
                    for record in Path(scratch).glob(_RECORD):
                        record.rename(home / record.name)
                    built.rename(path)
    return made


def _build_pause(scratch: Path) -> Path:
    _run("gcc", "-O2", "-static", "-o", str(scratch / "pause"), str(_SOURCES / "pause.c"))
    root = scratch / "root.tar"
    with tarfile.open(root, "w") as archive:
        archive.add(scratch / "pause", "pause")
    return _archive(PAUSE, root, scratch / "image.tar", ["/pause"])


def _build_mpi(scratch: Path) -> Path:
    """Build it with mmdebstrap(1). Programs may run as root, as mpiuser (1000), or as any user."""
    _stage(scratch)
    hooks = [
        'chroot "$1" useradd --uid 1000 --create-home --shell /bin/bash mpiuser',
        f'copy-in "{scratch}/opt" /',
        f'copy-in "{scratch}/etc" /',
        'chroot "$1" chown -R mpiuser:mpiuser /home/mpiuser',
        'mkdir -p "$1/run/sshd"',
        f'chroot "$1" dpkg-query --show >"{scratch}/{_RECORD}"',
    ]
    options = [f"--customize-hook={hook}" for hook in hooks]
    options += [f"--dpkgopt=path-exclude=/{path}/*" for path in _UNUSED]
    root = scratch / "root.tar"
    _run(
        "mmdebstrap", "--variant=minbase", f"--include={','.join(packages())}", *options, _SUITE, str(root)
    )  # fmt: skip
    return _archive(MPI, root, scratch / "image.tar", ["/bin/bash"])


def _stage(scratch: Path) -> None:
    """Write the files that Debian does not have: the ssh settings, and the MPIs of PyPI."""
    for path, text in _SETTINGS.items():
        (scratch / path).parent.mkdir(parents=True, exist_ok=True)
        (scratch / path).write_text(text)
    image_mpis.stage(scratch)


def _archive(name: str, layer: Path, path: Path, command: Sequence[str]) -> Path:
    """Write one layer as an image that containerd imports (Docker's image specification 1.2)."""
    with layer.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    config = json.dumps({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Cmd": command, "Env": [f"PATH={_PATH}"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created_by": "kubelab"}],
    }).encode()  # fmt: skip
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as archive:
        for member, content_bytes in ((config_name, config), ("manifest.json", manifest)):
            info = tarfile.TarInfo(member)
            info.size = len(content_bytes)
            archive.addfile(info, io.BytesIO(content_bytes))
        archive.add(layer, "layer.tar")
    return path


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise KubelabError(f"{command[0]} is missing; 'make programs' installs it") from error
    if done.returncode:
        said = "\n".join(done.stderr.splitlines()[-15:])
        raise KubelabError(f"{command[0]} failed:\n{said}")
