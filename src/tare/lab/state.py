"""Store the state of a lab in a folder, so that other processes find it.

A lab's folder has ``lab.json`` (the record) and ``hosts/``: for each name and address of a host, one file
with the options with which nsenter(1) enters the host. In the lab's own mount namespace, a tmpfs over the
folder has the same files with the values that hold inside. So the same path is right on both sides.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, LabError, UsageError
from tare.core.site import LabSpec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")

FROM_INSIDE = "--mount --net --uts --ipc"
FROM_OUTSIDE = f"--user --preserve-credentials --pid {FROM_INSIDE}"
"""The namespaces to enter. Inside, the user and PID namespaces are the same already (setns(2): EINVAL)."""


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process, identified so that a later process with the same pid is not taken for it.

    `start_ticks` is its start time since `boot` in clock ticks (proc_pid_stat(5), field 22). `pid_namespace`
    is the inode of the PID namespace in which `pid` is valid.
    """

    pid: int
    start_ticks: int
    pid_namespace: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """Return the identity of the running process `pid`. Raises OSError when there is none."""
        return cls(pid, _start_ticks(pid), own_pid_namespace(), _boot())

    def is_alive(self) -> bool:
        """Return whether it still runs; call this only in its own PID namespace."""
        try:
            return (_boot(), _start_ticks(self.pid)) == (self.boot, self.start_ticks)
        except OSError:
            return False


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``lab.json``.

    `pids` are the processes that hold the hosts' namespaces, by host. `switches` are those that
    forward frames.
    """

    name: str
    spec: LabSpec
    is_owned: bool
    started_at: float
    holder: ProcessIdentity
    pids: dict[str, int]
    switches: dict[str, int] = {}


def own_pid_namespace() -> int:
    """Return the inode of this process's PID namespace."""
    return Path("/proc/self/ns/pid").stat().st_ino


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_ticks(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()  # the name before it may contain any character
    if fields[0] in "ZX":
        raise ProcessLookupError(pid)
    return int(fields[19])


def base_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of this user's labs; create it if it is missing.

    Raises LabError if the path belongs to another user, is not a folder, or others may write to it.
    """
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK | os.X_OK):
        base = Path(runtime) / "tare"
    else:
        base = Path(f"/tmp/tare-{os.getuid()}")  # noqa: S108  # checked below
    with contextlib.suppress(FileExistsError):
        base.mkdir(mode=0o700)
    found = base.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise LabError(
            f"{base} is not a private folder of yours; have its owner remove it, or set XDG_RUNTIME_DIR"
        )
    return base


@contextlib.contextmanager
def locked(base: Path) -> Iterator[None]:
    """Let only one process at a time build or remove labs in `base`; the lock ends with its process."""
    with (base / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def folder_of(base: Path, name: str) -> Path:
    """Return the folder of the lab `name`. Raises UsageError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a lab; use letters, digits, _ and -")
    return base / name


def read(folder: Path) -> Record | None:
    """Return the record in `folder`; None if there is none, or it cannot be read."""
    try:
        return decode_json((folder / "lab.json").read_bytes(), type=Record)
    except (OSError, *NOT_JSON):
        return None


def obstacle(folder: Path) -> str:
    """Return why a lab in `folder` can be neither used nor ended from here; else empty."""
    path = folder / "lab.json"
    record = read(folder)
    if record is None and path.exists():
        return (
            f"{path} cannot be read: was it written by another version of Tare? When 'pgrep -f {folder}' "
            f"finds no process, remove {folder}"
        )
    if record is not None and record.holder.pid_namespace != own_pid_namespace():
        return (
            f"{folder} is that of a lab in another PID namespace, such as another container's; use it and "
            "take it down there, or set XDG_RUNTIME_DIR to another folder here"
        )
    return ""


def write(folder: Path, record: Record, aliases: Mapping[str, str], namespaces: str) -> None:
    """Write the files of a lab; ``lab.json`` is renamed into place last, so that nobody reads half of it."""
    hosts = folder / "hosts"
    hosts.mkdir()
    for alias, host in aliases.items():
        (hosts / alias).write_text(f"{namespaces} --target {record.pids[host]}\n")
    draft = folder / "lab.json.new"
    draft.write_bytes(msgspec.json.encode(record))
    draft.rename(folder / "lab.json")


def remove(folder: Path) -> None:
    """Remove a lab's folder, even if it is incomplete."""
    shutil.rmtree(folder, ignore_errors=True)


def is_stale(record: Record) -> bool:
    """Return whether a lab of this PID namespace has ended."""
    return not record.holder.is_alive()


def prune(base: Path) -> None:
    """Remove the folders of ended labs; call it in `locked`, when no lab is half built.

    A lab of which it is not known whether it has ended is kept: without its folder nobody could end it.
    """
    for folder in base.iterdir():
        if folder.is_dir() and not obstacle(folder):
            record = read(folder)
            if record is None or is_stale(record):
                remove(folder)
