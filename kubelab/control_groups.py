"""Create the control groups of a lab, of version 1 or 2 (cgroups(7)); a node's pods are below its own."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "kubelab-"


def name_of(folder: Path) -> str:
    """Return the name of the control groups of the lab in `folder`."""
    return f"{_PREFIX}{hashlib.blake2b(str(folder.resolve()).encode(), digest_size=4).hexdigest()}"


def make(name: str) -> None:
    """Create the control group at the path `name` in each hierarchy; its first part gets more CPU time."""
    for hierarchy in _hierarchies():
        path = hierarchy
        for part in Path(name).parts:
            path /= part
            path.mkdir(exist_ok=True)
            _hand_down(path)
        _prefer(hierarchy / Path(name).parts[0])


def make_beside_pods(name: str) -> list[Path]:
    """Create a group for programs beside the pods of the node with group `name`, with the CPU time of a pod.

    Return the files that take the ids of its processes: one for each hierarchy that has CPUs to share.
    """
    files = []
    for hierarchy in _hierarchies():
        group = hierarchy / name / "bare"
        if any((group.parent / kind).exists() for kind in ("cpu.shares", "cpu.weight")):
            group.mkdir(exist_ok=True)
            files.append(group / "cgroup.procs")
    return files


def remove_dead() -> None:
    """Remove the control groups of all labs that have no processes any more."""
    for hierarchy in _hierarchies():
        for group in hierarchy.glob(f"{_PREFIX}*"):
            below = [one for one in group.rglob("*") if one.is_dir()]
            for one in sorted([group, *below], key=lambda each: len(each.parts), reverse=True):
                with contextlib.suppress(OSError):  # it is in use, or another process has just removed it
                    one.rmdir()


def _hierarchies() -> Iterator[Path]:
    if (_ROOT / "cgroup.procs").exists():  # version 2 has one hierarchy
        return iter([_ROOT])
    every = (one for one in sorted(_ROOT.iterdir()) if not one.is_symlink())
    return (one for one in every if (one / "cgroup.procs").exists())


def _prefer(path: Path) -> None:
    """Give `path` ten times the usual share of CPUs: beside builds, pods would get too little."""
    for kind, share in (("cpu.shares", "10240"), ("cpu.weight", "1000")):
        if (path / kind).exists():
            (path / kind).write_text(share)


def _hand_down(path: Path) -> None:
    """Make the parent's CPUs and all controllers available below `path`."""
    if path.parent.joinpath("cpuset.mems").exists():  # version 1 begins with none
        for kind in ("cpuset.cpus", "cpuset.mems"):
            (path / kind).write_text((path.parent / kind).read_text())
        (path / "cgroup.clone_children").write_text("1")
    available = path / "cgroup.controllers"
    if available.exists():
        wanted = " ".join(f"+{one}" for one in available.read_text().split())
        (path / "cgroup.subtree_control").write_text(wanted)
