"""The control groups of a lab, of either version (cgroups(7)): a node's pods are below its own."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def name_of(folder: Path) -> str:
    """Return the name of the control groups of the lab in `folder`."""
    return f"kubelab-{hashlib.blake2b(str(folder.resolve()).encode(), digest_size=4).hexdigest()}"


def make(name: str) -> None:
    """Make the control group `name`, a path, in each hierarchy."""
    for hierarchy in _hierarchies():
        path = hierarchy
        for part in Path(name).parts:
            path /= part
            path.mkdir(exist_ok=True)
            _hand_down(path)


def remove(name: str) -> None:
    """Remove the control group `name` and all below it. Their processes have ended before."""
    for hierarchy in [*_hierarchies(), _ROOT / "unified"]:
        path = hierarchy / name
        below = [one for one in path.rglob("*") if one.is_dir()] if path.is_dir() else []
        for one in sorted([path, *below], key=lambda each: len(each.parts), reverse=True):
            with contextlib.suppress(FileNotFoundError):
                one.rmdir()


def _hierarchies() -> Iterator[Path]:
    if (_ROOT / "cgroup.controllers").exists():
        yield _ROOT
        return
    for one in sorted(_ROOT.iterdir()):
        if one.is_dir() and not one.is_symlink() and one.name != "unified":
            yield one


def _hand_down(path: Path) -> None:
    """Let what is below `path` have the CPUs and controllers of what is above it."""
    if path.parent.joinpath("cpuset.mems").exists():  # version 1 begins with none
        for kind in ("cpuset.cpus", "cpuset.mems"):
            (path / kind).write_text((path.parent / kind).read_text())
        (path / "cgroup.clone_children").write_text("1")
    available = path / "cgroup.controllers"
    if available.exists():
        wanted = " ".join(f"+{one}" for one in available.read_text().split())
        (path / "cgroup.subtree_control").write_text(wanted)
