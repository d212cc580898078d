"""Sessions of `tare run`: which session made a job label, and whether that session is known to be over.

A job's label begins with its session: campaign, pid, start, host, machine, boot, user and namespaces. Only
this module parses labels, and they are compared as a whole. A session counts as dead only if this process can
know it. The session must be of the same user, of this host since its last boot, and of the same namespaces as
this process. Its pid must be free or belong to another process.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple

_UNKNOWN = "-"
_LABEL = re.compile(
    r"(?P<campaign>[\w.-]{1,64}):(?P<pid>[1-9]\d{0,6}):(?P<start>\d{1,20}):2:(?P<host>[\w.-]{1,64}):"
    r"(?P<machine>[0-9a-f]{16}):(?P<boot>[0-9a-f]{32}|-):(?P<uid>\d{1,10}):(?P<namespaces>\d{1,10}-\d{1,10}|-):"
    r"(?P<job>[^\s:\x00-\x1f\x7f]*)",
    re.ASCII,
)
"""Labels begin like those of version 0.1.0, so that its `tare clean` sees that the session is alive."""

_OLD = re.compile(r"[\w.-]+:(?P<pid>[1-9]\d{0,6}):(?P<start>\d{1,20}):[^\s:\x00-\x1f\x7f]*", re.ASCII)
"""A label of version 0.1.0, which named neither host nor user."""


class Session(NamedTuple):
    """One process of `tare run`: its campaign, host, user and process id."""

    campaign: str
    pid: int
    start: int
    host: str
    machine: str
    boot: str
    uid: int
    namespaces: str

    def __str__(self) -> str:
        """Return the prefix of the labels of its jobs, which ends with a colon."""
        words = [str(one) for one in self]
        return ":".join([*words[:3], "2", *words[3:], ""])


class SessionLabel(NamedTuple):
    """The label of a job's processes: its session, and the job's name (empty for the session itself)."""

    session: Session
    job: str


class Fate(Enum):
    """What is known of a session: it is alive, dead, from before the last boot, or nothing is known."""

    ALIVE = auto()
    DEAD = auto()
    BEFORE_BOOT = auto()
    UNKNOWN = auto()


class SessionFate(NamedTuple):
    """The state of a session, and why its leftovers must not be touched if it is not dead."""

    fate: Fate
    why: str = ""


def new_session(campaign: str) -> Session:
    """Return this process as a session of `campaign`, a name of letters, digits, dots and dashes."""
    host, machine, boot, namespaces = _place()
    process = _stat("self")
    return Session(
        campaign, os.getpid(), process.start if process else 0, host, machine, boot, os.getuid(), namespaces
    )


def parse(label: str) -> SessionLabel | None:
    """Return the session and job of a label.

    Return None if the label is not exactly as this version writes it.
    """
    found = _LABEL.fullmatch(label)
    if found is None:
        return None
    part = found.groupdict()
    session = Session(
        part["campaign"],
        int(part["pid"]),
        int(part["start"]),
        part["host"],
        part["machine"],
        part["boot"],
        int(part["uid"]),
        part["namespaces"],
    )
    return SessionLabel(session, part["job"]) if f"{session}{part['job']}" == label else None


def judge(label: str, owner: int | None = None, *, takes_old: bool = False) -> SessionFate:
    """Return whether the session that made this label is alive, dead, from before the last boot, or unknown.

    `owner` is the user whose process or file carries the label, if known. With `takes_old`, labels of version
    0.1.0 are treated as labels of this host and user.
    """
    uid = os.getuid()
    parsed = parse(label)
    if parsed is None:
        old = _OLD.fullmatch(label) if takes_old and owner in {None, uid} else None
        if old is None:
            return SessionFate(
                Fate.UNKNOWN, f"its job label was not made by this version of Tare, or is forged: {label!r}"
            )
        return _life(int(old["pid"]), int(old["start"]))
    session = parsed.session
    if owner not in {None, session.uid}:
        return SessionFate(
            Fate.UNKNOWN, f"it is {_user(owner)}'s, its job label {_user(session.uid)}'s: changed or forged"
        )
    if session.uid != uid:
        return SessionFate(Fate.UNKNOWN, f"it is {_user(session.uid)}'s")
    host, machine, boot, namespaces = _place()
    if (session.host, session.machine) != (host, machine):
        same = ", another machine of this name" if session.host == host else ""
        return SessionFate(Fate.UNKNOWN, f"it is of host {session.host}{same}: clean up there")
    if _UNKNOWN in {boot, namespaces, session.boot, session.namespaces}:
        return SessionFate(Fate.UNKNOWN, "/proc does not tell, there or here, which processes are whose")
    if session.boot != boot:
        return SessionFate(Fate.BEFORE_BOOT, "it is of before this host's last boot, if that is one host")
    if session.namespaces != namespaces:
        return SessionFate(
            Fate.UNKNOWN, "it was made in another PID namespace, as in a container: clean up there"
        )
    return _life(session.pid, session.start)


def is_gone(label: str, campaign: str) -> bool:
    """Return whether a session of `campaign` made this label and is over.

    Only this process may run `campaign` now. A session from before the last boot is over.
    """
    parsed = parse(label)
    return (
        parsed is not None
        and parsed.session.campaign == campaign
        and judge(label).fate in {Fate.DEAD, Fate.BEFORE_BOOT}
    )


class _Stat(NamedTuple):
    is_zombie: bool
    start: int


def _life(pid: int, start: int) -> SessionFate:
    """Return whether the process with this pid and start time is alive.

    Return unknown if /proc hides the process.
    """
    process = _stat(str(pid))
    if process is not None:
        return SessionFate(Fate.ALIVE if process.start == start and not process.is_zombie else Fate.DEAD)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return SessionFate(Fate.DEAD)
    except OSError:
        pass
    return SessionFate(Fate.UNKNOWN, f"/proc hides process {pid}, which may be its tare")


def _stat(pid: str) -> _Stat | None:
    """Return the fields of /proc/PID/stat (proc(5)). The start is in clock ticks since boot."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return _Stat(fields[0] in {"Z", "X"} and int(fields[17]) <= 1, int(fields[19]))


def _place() -> tuple[str, str, str, str]:
    """Return this host's name, machine id and boot id, and the namespaces in which pids and times are valid.

    The machine id is hashed, as machine-id(5) asks, because jobs on other machines carry it.
    """
    host = re.sub(r"[^\w.-]", "-", os.uname().nodename, flags=re.ASCII)[:64] or _UNKNOWN
    machine = hashlib.blake2b((_read("/etc/machine-id") or host).encode(), digest_size=8, key=b"tare")
    boot = _read("/proc/sys/kernel/random/boot_id").replace("-", "")
    return host, machine.hexdigest(), boot or _UNKNOWN, _namespaces()


def _namespaces() -> str:
    """Return the PID and time namespaces of this process. Return unknown if /proc shows other namespaces."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115  # a magic link, compared as text
            return _UNKNOWN
        pids = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116  # as the line above
    except OSError:
        return _UNKNOWN
    try:
        return f"{pids}-{Path('/proc/self/ns/time').stat().st_ino}"
    except OSError:  # a kernel before 5.6 has no time namespaces
        return f"{pids}-0"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _user(uid: int | None) -> str:
    try:
        return f"user {pwd.getpwuid(uid or 0).pw_name}"
    except KeyError:
        return f"user {uid}"
