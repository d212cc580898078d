"""Read the sources of telemetry: small files of /proc and /sys, and what changed in them since.

This file is sent to nodes with node.py (see bundle), so it may use only Python 3.6 and its standard library.
"""

import os
import time
import types

SOURCES = {}  # type: dict[str, types.ModuleType]
FAULTS = {}  # type: dict[str, str]
_MOST_BYTES = 1 << 16
_MOST_SHARE = 0.01  # of a core that reading one source may take
_OF_GROUP = "run"  # the source that reads a run's control group
_REOPEN_S = 60.0  # then a new recording opens files anew: one may be mounted


def add_source(name: str, text: str) -> None:
    """Add the source whose file holds `text`. A broken source is recorded, and the others continue."""
    module = types.ModuleType(name)
    try:
        exec(compile(text, name + ".py", "exec"), module.__dict__)  # noqa: S102  # our own text, shipped with this
    except Exception as error:  # one broken source does not stop the others
        FAULTS[name] = describe(error)
    else:
        SOURCES[name] = module


class Files:
    """Opened files by path. They stay open, because opening them costs more than reading them.

    Sources that read the same file share it, and it is read once for each sample.
    """

    def __init__(self) -> None:
        self._descriptors = {}  # type: dict[str, int]
        self._read = {}  # type: dict[str, bytes]

    def open(self, path: str) -> None:
        """Open a file, unless it is open. Raises OSError."""
        if path not in self._descriptors:
            self._descriptors[path] = os.open(path, os.O_RDONLY)

    def forget(self) -> None:
        """Read the files anew from here on."""
        self._read = {}

    def read(self, path: str) -> bytes:
        """Return what is in an open file now, or was when this sample first read it. Raises OSError."""
        if path not in self._read:
            self._read[path] = _read(self._descriptors[path])
        return self._read[path]

    def close(self) -> None:
        """Close all files."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors = {}


class Reader:
    """One source. `faults` are the current errors: of it by its name, or of single files by their path."""

    def __init__(self, name: str, paths: "list[str]", files: Files) -> None:
        self.faults = {}  # type: dict[str, str]
        self.has_failed = False  # since it was opened; its files may exist again
        self.due = 0.0  # when to read it again by time.monotonic(); a command reads it also before
        self._name = name
        self._module = SOURCES[name]
        self._files = files
        self._paths = []  # type: list[str]
        self._texts = []  # type: list[bytes | None]
        self._lines = []  # type: list[str]
        self._written = None  # type: list[str] | None
        self._pause_s = getattr(self._module, "pause_s", None)
        for path in paths:
            try:
                files.open(path)
            except OSError as error:
                if len(paths) == 1:
                    raise
                self.faults[path] = _describe_without_path(error)
            else:
                self._paths.append(path)

    def __bool__(self) -> bool:
        return bool(self._paths or self.faults)

    def changes(self) -> "list[str] | dict[int, str] | None":
        """Return all lines, or the changed lines by number, or None if none changed or reading failed."""
        written, self._written = self._written, None  # after a failure, all lines are written
        try:
            texts = [self._text(path) for path in self._paths]
            if texts != self._texts:  # text that is still the same needs no other look
                self._lines = list(self._module.shorten(self._split(texts)))
                self._texts = texts
        except Exception as error:  # an error in one source does not stop the others
            self.faults[self._name] = describe(error)
            self.has_failed = True
            self._texts = []
            return None
        self.faults.pop(self._name, None)
        self._written = lines = self._lines
        if written is None or len(written) != len(lines):
            return lines
        if written is lines:
            return None
        return {number: new for number, new in enumerate(lines) if new != written[number]} or None

    def put_off(self, now: float, cost_s: float) -> None:
        """Set when to read it again, after it was read for `cost_s`: an expensive source waits longer.

        One that failed is tried again at the next sample.
        """
        if self._written is not None:
            pause_s = self._pause_s(self._written) if self._pause_s else 0.0
            self.due = now + max(cost_s / _MOST_SHARE, pause_s)

    def forget(self) -> None:
        """Start again: the next changes are all lines."""
        self._written = None

    def _text(self, path: str) -> "bytes | None":
        """Return a file's text; None if it cannot be read and the source has others."""
        try:
            text = self._files.read(path)
        except OSError as error:  # a core, port or group that is gone and may come back
            if len(self._paths) == 1:
                raise
            self.faults[path] = _describe_without_path(error)
            self.has_failed = True
            return None
        self.faults.pop(path, None)
        return text

    def _split(self, texts: "list[bytes | None]") -> "list[str]":
        lines = []  # type: list[str]
        for path, data in zip(self._paths, texts):
            text = (data or b"").decode("utf-8", "replace").splitlines()
            lines += [path + " " + one for one in text] if self._module.HAS_PATHS else text
        return lines


class Readers:
    """The readers of all sources. They are kept between recordings."""

    def __init__(self, root: str = "") -> None:
        self._opened_at = time.monotonic()
        self._faults = dict(FAULTS)
        self._files, self._group_files = Files(), Files()
        self.by_name = {}  # type: dict[str, Reader]
        for name in sorted(SOURCES):
            try:
                reader = Reader(name, SOURCES[name].paths(root), self._files)
            except Exception as error:  # as in Reader
                self._faults[name] = describe(error)
            else:
                if reader:
                    self.by_name[name] = reader

    def follow(self, group: str = "") -> None:
        """Read from here on a run's control group, given by its folder, and no longer the one before it."""
        self.by_name.pop(_OF_GROUP, None)
        self._group_files.close()
        if group and _OF_GROUP in SOURCES:
            paths = SOURCES[_OF_GROUP].group_paths(group)
            self.by_name[_OF_GROUP] = Reader(_OF_GROUP, paths, self._group_files)

    def are_stale(self) -> bool:
        """Return whether new files may exist since these were opened."""
        has_failed = any(reader.has_failed for reader in self.by_name.values())
        return has_failed or time.monotonic() - self._opened_at > _REOPEN_S

    def changes(self, are_all_due: bool) -> "dict[str, object]":
        """Return the changes by source."""
        changed = {}  # type: dict[str, object]
        self._files.forget()
        self._group_files.forget()
        now, cost_s = time.monotonic(), 0.0
        for name, reader in self.by_name.items():
            if not are_all_due:
                if now < reader.due:
                    continue
                cost_s = -time.process_time()
            changes = reader.changes()
            if changes is not None:
                changed[name] = changes
            if not are_all_due:  # only a periodic sample is put off, so only there the cost matters
                cost_s += time.process_time()
            reader.put_off(now, cost_s)
        return changed

    def faults(self) -> "dict[str, str]":
        """Return the current faults."""
        faults = dict(self._faults)
        for reader in self.by_name.values():
            faults.update(reader.faults)
        return faults

    def close(self) -> None:
        """Close all files."""
        self._files.close()
        self._group_files.close()


def _read(descriptor: int) -> bytes:
    """Return a file's text from its beginning. Files of /proc may return pieces of any size."""
    text = os.pread(descriptor, _MOST_BYTES, 0)
    parts, length = [text], len(text)
    while text:
        text = os.pread(descriptor, _MOST_BYTES, length)
        parts.append(text)
        length += len(text)
    return parts[0] if len(parts) == 2 else b"".join(parts)


def describe(error: Exception) -> str:
    """Return an error in words."""
    text = "{}: {}".format(type(error).__name__, error)
    return text.encode("utf-8", "replace").decode()  # a path may hold bytes that are not text


def _describe_without_path(error: OSError) -> str:
    return "{}: {}".format(type(error).__name__, error.strerror)
