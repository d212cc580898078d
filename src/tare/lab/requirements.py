"""Check what the lab needs of this machine; each point is really tried."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tare.lab import containers, docker, rootfs, storage
from tare.lab.delay import TAP_DEVICE
from tare.lab.mpi import DISTRIBUTIONS, installed_version, is_installed, mpi_folder, pinned_version

MINIMUM_PYTHON = (3, 11)
_TIMEOUT_S = 60.0


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement: whether it is met, what was found, why it matters, and how to meet it.

    `is_needed` says that no lab works without it; others are for some networks or platforms only.
    """

    name: str
    is_met: bool
    is_needed: bool
    found: str
    why: str
    cure: str


def check() -> tuple[Requirement, ...]:
    """Return every requirement of the lab and its MPIs, the most fundamental first."""
    return (
        _python(),
        _nsenter(),
        *_kernel(),
        _programs("sshfs", storage.missing(), "storage paths of the lab", storage.CURE),
        *_mpis(mpi_folder()),
        *_containers(),
    )


def _containers() -> Iterator[Requirement]:
    built = rootfs.rootfs_folder() / "debian"
    runtime = containers.oci_runtime() or ""
    yield _programs(
        "podman", containers.missing(), "the platforms podman-… of the lab, as root", containers.CURE, runtime
    )
    yield _programs("docker", docker.missing(), "the platforms docker-… of the lab, as root", docker.CURE)
    lacking = [] if shutil.which("ch-run") else ["ch-run"]
    cure = "on Debian: apt install charliecloud-runtime"
    yield _programs("charliecloud", lacking, "the platforms charliecloud… of the lab", cure)
    yield Requirement(
        name="rootfs",
        is_met=rootfs.is_built(built),
        is_needed=False,
        found=str(built) if rootfs.is_built(built) else f"not in {built.parent}",
        why="what the lab's containers are made of",
        cure=f"tare lab rootfs ({rootfs.CURE})",
    )


def _programs(name: str, lacking: list[str], needed_for: str, cure: str, found: str = "works") -> Requirement:
    """Return whether the programs are installed that a part of the lab needs."""
    return Requirement(
        name=name,
        is_met=not lacking,
        is_needed=False,
        found=f"{', '.join(lacking)} missing" if lacking else found,
        why=needed_for,
        cure=cure,
    )


def _python() -> Requirement:
    return Requirement(
        name="python",
        is_met=sys.version_info >= MINIMUM_PYTHON,
        is_needed=True,
        found=".".join(map(str, sys.version_info[:3])),
        why="Tare is written in it",
        cure="install Python {}.{} or later".format(*MINIMUM_PYTHON),
    )


def _nsenter() -> Requirement:
    path = shutil.which("nsenter")
    found = ""
    if path is not None:  # BusyBox's has no --preserve-credentials, and no --version either
        found = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False
        ).stdout.strip()
    return Requirement(
        name="nsenter",
        is_met="util-linux" in found,
        is_needed=True,
        found=found or "not the one of util-linux",
        why="starts commands on the lab's nodes",
        cure="install util-linux (apt install util-linux, dnf install util-linux-core)",
    )


def _kernel() -> tuple[Requirement, ...]:
    failures = _probe()
    cure = "as root: {}; or use a lab without such networks"
    return (
        Requirement(
            name="namespaces",
            is_met=not failures["namespaces"],
            is_needed=True,
            found=_found(failures["namespaces"].partition("; ")[0]),
            why="the lab's nodes are made of them",
            cure=failures["namespaces"].partition("; ")[2],
        ),
        *(
            Requirement(
                name=name,
                is_met=not failures[name],
                is_needed=False,
                found=_found(failures[name]),
                why=why,
                cure=cure.format(commands),
            )
            for name, commands, why in (
                ("vxlan", "modprobe vxlan", "overlay networks of the lab"),
                ("macvlan", "modprobe macvlan", "macvlan networks of the lab"),
                ("tbf", "modprobe sch_tbf", "networks of the lab with a rate"),
                ("tap", f"modprobe tun; chmod 666 {TAP_DEVICE}", "networks of the lab with a delay"),
            )
        ),
    )


def _probe() -> dict[str, str]:
    """Return the failure that the probe reports for each trial; if it reports nothing, the reason of that."""
    from tare.lab.probe import TRIALS

    try:
        probe = subprocess.run(
            [sys.executable, "-P", "-m", "tare.lab.probe"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=True,
        )
        return {str(name): str(reason) for name, reason in json.loads(probe.stdout).items()}
    except subprocess.CalledProcessError as error:
        return dict.fromkeys(TRIALS, f"the probe failed: {error.stderr.strip().rpartition(chr(10))[2]}")
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        return dict.fromkeys(TRIALS, f"the probe failed: {error}")


def _found(failure: str) -> str:
    return failure or "works"


def _mpis(folder: Path) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            name=name,
            is_met=is_installed(name, folder),
            is_needed=False,
            found=_version(name, folder) if is_installed(name, folder) else f"not in {folder}",
            why=f"the platform {name} of the lab",
            cure=f"tare lab setup --mpi {name}",
        )
        for name in DISTRIBUTIONS
    )


def _version(name: str, folder: Path) -> str:
    version = installed_version(name, folder) or "unknown version"
    untried = "" if version == pinned_version(name) else f", and not {pinned_version(name)}, which is locked"
    return f"{folder / name}: {version}{untried}"
