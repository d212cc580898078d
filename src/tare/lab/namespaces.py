"""System calls that Python 3.11 lacks: unshare(2), setns(2), mount(2), prctl(2)."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import functools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from tare.core.errors import LabError


class Namespace(enum.IntFlag):
    """The kinds of namespaces(7), by their clone(2) flags."""

    MOUNT = 0x0002_0000
    UTS = 0x0400_0000
    IPC = 0x0800_0000
    USER = 0x1000_0000
    PID = 0x2000_0000
    NETWORK = 0x4000_0000


class Mount(enum.IntFlag):
    """The flags of mount(2) that the lab needs."""

    NONE = 0
    NOSUID = 0x2
    NODEV = 0x4
    NOEXEC = 0x8
    BIND = 0x1000
    MOVE = 0x2000
    RECURSIVE = 0x4000
    PRIVATE = 0x4_0000


_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15

_SYSCTLS = (
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "15000"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)
"""The sysctls that can forbid user namespaces: name, forbidding value, allowing value."""

CONTAINER_CURE = (
    "inside a container, start it with --privileged, or with --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined"
)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")


def unshare(kinds: Namespace) -> None:
    """Move this process into new namespaces of `kinds`; a new PID namespace takes only its children."""
    _check(_libc().unshare(int(kinds)), "unshare")


@contextlib.contextmanager
def in_network_of(pid: int) -> Iterator[None]:
    """Stay in the network namespace of process `pid` within the block; sockets opened there remain in it."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        other = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        try:
            _check(_libc().setns(other, int(Namespace.NETWORK)), "setns")
        finally:
            os.close(other)
        try:
            yield
        finally:
            _check(_libc().setns(own, int(Namespace.NETWORK)), "setns")
    finally:
        os.close(own)


def mount(source: str | Path, target: str | Path, kind: str = "", flags: Mount = Mount.NONE) -> None:
    """Mount `source` on `target`; `kind` is a file system type, or empty for binds and moves."""
    result = _libc().mount(os.fsencode(source), os.fsencode(target), kind.encode(), int(flags), None)
    _check(result, f"mount {target}")


def unmount(target: Path) -> None:
    """Detach what is mounted on `target` and below it; what is in use stays until its use ends."""
    detach = 2  # MNT_DETACH
    _check(_libc().umount2(os.fsencode(target), detach), f"unmount {target}")


def die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends, for any reason."""
    _check(_libc().prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0), "prctl")


def name_process(name: str) -> None:
    """Set the name of this process that ps(1) shows; it is cut to 15 bytes."""
    _check(_libc().prctl(_PR_SET_NAME, name.encode(), 0, 0, 0), "prctl")


def enter_user_namespace() -> None:
    """Become root of a new user namespace.

    Root keeps all of its ids. An ordinary user becomes uid 0 and gid 0, the only ids that it may map
    (user_namespaces(7)). A child that stays outside writes the maps, because only a process of the parent
    namespace may map more than one id.
    """
    with attempting("create a user namespace", userns_cure):
        signal_reading, signal_writing = os.pipe()
        parent = os.getpid()
        uid, gid = os.geteuid(), os.getegid()
        child = os.fork()
        if child == 0:
            os._exit(_map_when_signalled(signal_reading, signal_writing, parent, uid, gid))
        os.close(signal_reading)
        try:
            unshare(Namespace.USER)
            os.write(signal_writing, b"!")
        finally:
            os.close(signal_writing)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != 0:
            raise OSError(status, f"write the id maps: {os.strerror(status)}")
        # The kernel may have made us undumpable; then only root could enter our namespaces.
        _check(_libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")


def _map_when_signalled(signal_reading: int, signal_writing: int, pid: int, uid: int, gid: int) -> int:
    os.close(signal_writing)
    if os.read(signal_reading, 1) != b"!":
        return 0
    process = Path(f"/proc/{pid}")
    try:
        if uid == 0:
            for kind in ("uid_map", "gid_map"):
                (process / kind).write_text(_identity(Path(f"/proc/self/{kind}").read_text()))
        else:
            (process / "setgroups").write_text("deny")  # required before an ordinary user may map its gid
            (process / "uid_map").write_text(f"0 {uid} 1")
            (process / "gid_map").write_text(f"0 {gid} 1")
    except OSError as error:
        return error.errno or 1
    return 0


def _identity(own_map: str) -> str:
    """Return the map that gives a child every id that `own_map` gives us, except the very last one.

    runc takes a map of all 2^32 - 1 ids for that of the machine itself, and then insists on devices and
    cgroups that only the machine's own root may have (libcontainer/userns, UIDMapInUserNS).
    """
    extents = [line.split() for line in own_map.splitlines()]
    whole = str(2**32 - 1)
    return "".join(
        f"{first} {first} {int(count) - 1 if count == whole else count}\n" for first, _, count in extents
    )


@contextlib.contextmanager
def attempting(what: str, cure: Callable[[], str]) -> Iterator[None]:
    """Turn an OSError of the block into a LabError that says what failed (`what`), why, and the cure."""
    try:
        yield
    except OSError as error:
        raise LabError(f"cannot {what}: {error.strerror or error}; {cure()}") from error


def userns_cure(root: Path = Path("/proc/sys")) -> str:
    """Return what to change so that user namespaces work, judging by the sysctls under `root`."""
    wrong = []
    for name, forbids, allows in _SYSCTLS:
        try:
            value = (root / name.replace(".", "/")).read_text().strip()
        except OSError:
            continue
        if value == forbids:
            wrong.append(f"sysctl -w {name}={allows}")
    if wrong:
        return "user namespaces are switched off: as root, run " + " and ".join(wrong)
    names = ", ".join(name for name, _, _ in _SYSCTLS)
    return f"the sysctls that govern this ({names}) allow it; {CONTAINER_CURE}"


def container_cure() -> str:
    """Return what to change so that mounts work."""
    return CONTAINER_CURE
