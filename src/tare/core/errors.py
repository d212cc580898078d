"""The errors that Tare raises, and the exit code that each one means.

TareError                      3
├── UsageError                 2   the command or a file is wrong; the message holds the cure
│   └── FileFaults             2   all faults of one or more files at once
└── InfrastructureError        3   the place failed, not the study
    ├── LabError                   the lab could not be built or is gone
    ├── BackendError               processes could not be started or watched
    ├── StorageError               a storage path could not take a run's files
    ├── OutputLost                 standard output takes no more (141: its reader has gone)
    └── CampaignError              the campaign folder cannot be read or written
        ├── NoCampaign             2   the folder that was named holds none
        ├── CampaignLocked             another process is running it
        └── DiskFull                   no space left; what is recorded is safe
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not the expected JSON, including invalid UTF-8 and deep nesting."""


STORAGE_FAULTS = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ESTALE})
"""What a file system that is full or broken answers: neither a program's fault nor a defect of Tare."""

OBSTACLES = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.ENXIO,
        errno.EPERM,
    }
)
"""What a sound file system answers where something else has the name, or its owner forbids to write it."""


class UnreadableFile(OSError):
    """A file system does not give a file, or does not tell what is in a folder.

    Whether the file is good, or is there at all, is unknown. When a file is read, only STORAGE_FAULTS raise
    this; when a folder is listed, or a name is looked up, every error does.
    """


class TareError(Exception):
    """Any error that Tare reports to its user in one line."""

    exit_code = 3

    def __reduce__(self) -> tuple[Callable[..., TareError], tuple[object, ...]]:
        """Copy the error as it is, as pickle does between processes: its parameters are no longer known."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[TareError], args: tuple[object, ...], attributes: dict[str, object]) -> TareError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class UsageError(TareError):
    """The command line or an input file asks for something impossible."""

    exit_code = 2


@dataclasses.dataclass(frozen=True)
class Fault:
    """One fault of a file: where it is, what is wrong, and the cure.

    `line` and `column` count from 1, as editors do; both are 0 if `file` is no file but a Python object.
    `path` names the place in terms of the file, such as ``factors.nodes[2]``.
    """

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        position = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.file}{position}: {where}{self.message}"


class FileFaults(UsageError):
    """Every fault that was found, in the order of the files' lines."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: (fault.file, fault.line, fault.column)))
        super().__init__("\n".join(str(fault) for fault in self.faults))


class InfrastructureError(TareError):
    """The place where runs happen failed; the study is not to blame."""


class LabError(InfrastructureError):
    """The lab could not be built, or is gone."""


def not_written(path: Path, error: OSError, cure: str) -> TareError:
    """Return the error for a file that the user named: a disk that fails is not the user's fault."""
    what = f"{path}: cannot write: {error.strerror}"
    return InfrastructureError(what) if error.errno in STORAGE_FAULTS else UsageError(f"{what}; {cure}")


class BackendError(InfrastructureError):
    """Processes could not be started, watched or ended."""


class StorageError(InfrastructureError):
    """A storage path could not take the files of a run."""


class OutputLost(InfrastructureError):
    """Standard output takes no more; if its reader has gone, the exit code is the shell's, 128 + SIGPIPE."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}")
        self.has_no_reader = error.errno == errno.EPIPE
        if self.has_no_reader:
            self.exit_code = 128 + signal.SIGPIPE


class CampaignError(InfrastructureError):
    """The campaign folder cannot be read or written."""

    @classmethod
    def gone(cls, folder: Path) -> CampaignError:
        """Return the error for a campaign whose `folder` no longer exists."""
        return CampaignError(
            f"{folder}: the campaign is gone: was it removed, or moved? 'tare run FOLDER' goes on with it "
            "where it is now"
        )

    @classmethod
    def from_os(cls, folder: Path, error: OSError) -> CampaignError:
        """Return the Tare error for `error`, an OSError while reading or writing below `folder`."""
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return DiskFull(folder)
        if error.errno == errno.ENOENT and not folder.exists():
            return CampaignError.gone(folder)
        what = "read" if isinstance(error, UnreadableFile) else "write"
        return CampaignError(f"{error.filename or folder}: cannot {what}: {error.strerror}")

    @classmethod
    @contextlib.contextmanager
    def for_files(cls, folder: Path) -> Iterator[None]:
        """Raise the Tare error for an OSError that is raised while entered, of files below `folder`."""
        try:
            yield
        except OSError as error:
            raise cls.from_os(folder, error) from error


class NoCampaign(CampaignError):
    """The folder that was named holds no campaign, and never did."""

    exit_code = 2

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(f"{folder}: not a campaign folder: {why}; 'tare run STUDY' makes one")


class CampaignLocked(CampaignError):
    """Another process is running this campaign."""


class DiskFull(CampaignError):
    """The file system of the campaign `folder` has no space left; everything recorded before is safe."""

    def __init__(
        self, folder: Path, lacking: str = "space left on this file system, for data or for files"
    ) -> None:
        super().__init__(
            f"{folder}: no {lacking} (df -h, df -i). Everything recorded so far is safe; free some space, "
            "then run the same command again to go on."
        )


_LONGEST_NAME, _MOST_NAMES, _MOST_ALIKE = 60, 300, 100
_LIKENESS = 0.75
"""The least likeness (difflib): that of ``hsot`` and ``host``; ``mode`` and ``modules`` have 0.73."""
_SHORTEST = 3
"""The least letters of an abbreviation, such as ``lat`` of ``latency``."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the name of `known` that `name` was probably meant to be; None where none is similar.

    Of many names, only those that begin with the same two characters are compared, at most 100: each
    comparison takes some 10 µs (difflib), and a file may have thousands of names and as many faults.
    """
    import difflib

    name, names = name[:_LONGEST_NAME], list(known)
    if len(names) > _MOST_NAMES:
        names = [one for one in names if one[:2] == name[:2]][:_MOST_ALIKE]
    close = difflib.get_close_matches(name, names, n=1, cutoff=_LIKENESS)
    begun = [one for one in names if len(name) >= _SHORTEST and one.startswith(name)]
    return close[0] if close else begun[0] if len(begun) == 1 else None


def name_cure(name: str, known: Iterable[str]) -> str:
    """Return the cure for an unknown name: the one that was probably meant, or else all that there are."""
    names = list(known)
    near = nearest_name(name, names)
    return f"did you mean {near!r}?" if near else f"choose from {', '.join(names)}"


KeyPath = tuple[str | int, ...]
"""The path from the top of a file to a value: keys, and indices of lists."""

_LONGEST_SHOWN = 60


def shown(text: str) -> str:
    """Return `text` in quotes, on one line and of bounded length."""
    if len(text) > _LONGEST_SHOWN:
        text = text[:_LONGEST_SHOWN] + "…"
    if text.isprintable() and "'" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=not text.isprintable())


MOST_NAME_BYTES = 255
"""The longest name of a file or folder on the file systems of Linux (NAME_MAX in limits.h)."""


def path_fault(path: str) -> str | None:
    """Return why there can be no file or folder at `path`, with the cure; None if there can."""
    if "\0" in path:
        return "a path cannot hold a NUL character; remove it"
    try:
        longest = max(len(os.fsencode(part)) for part in path.split("/"))
    except UnicodeEncodeError:
        return "a path cannot hold half of a surrogate pair; remove it"
    if longest > MOST_NAME_BYTES:
        return f"a name in a path has at most {MOST_NAME_BYTES} bytes; shorten it"
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the cure for a name that is not `known`: the nearest one, or all of them when few.

    Of a name that others begin with, such as ``imb`` of ``imb.pingpong``, it is those others.
    """
    names = list(dict.fromkeys(known))
    own = [one for one in names if one.startswith(f"{name}.")]
    names = own or names
    close = None if own else nearest_name(name, names)
    if close:
        return f"did you mean {shown(close)}?"
    if not names:
        return "there is none to choose from"
    few = ", ".join(names[:12])
    return f"use one of {few}{', …' if len(names) > 12 else ''}" if len(names) > 1 else f"use {few}"
