"""The sampler: reads small files of /proc and /sys while a run goes on, and writes down what changed.

This file goes to nodes as it stands (see bundle): Python 3.6 and its standard library are all that it may
use. It takes commands on standard input, a JSON list a line, and answers with a line when it is ready and
after each. Its end is the end of standard input, so that nothing stays behind when whoever started it is
gone; without a command it sleeps.

- ``["begin", PATH, PERIOD_S]`` writes a recording to PATH, ``{node}`` in it being the node's name
- ``["mark", NAME]``  takes a sample now, under a name
- ``["end"]``         takes a last sample

A recording is JSON lines, written one by one, so that whatever ends the sampler loses no more than one. Text
is kept rather than numbers, and only the lines that changed: what it costs to understand them is not for the
node to pay while it is measured.
"""

import json
import os
import select
import socket
import sys
import time
import types

VERSION = 1
SOURCES = {}  # type: dict[str, types.ModuleType]
FAULTS = {}  # type: dict[str, str]
_MOST_BYTES = 1 << 16
_REOPEN_S = 60.0  # after which a new recording looks anew for files: a file system may have been mounted


def add_source(name: str, text: str) -> None:
    """Take in the source whose file holds `text`; a broken one is recorded, and the others go on."""
    module = types.ModuleType(name)
    try:
        exec(compile(text, name + ".py", "exec"), module.__dict__)  # noqa: S102  # our own text, shipped with this
    except Exception as error:  # whatever is wrong with one source, the others go on
        FAULTS[name] = _tell(error)
    else:
        SOURCES[name] = module


class Reader:
    """One source, with its files held open: opening them anew would cost more than reading them."""

    def __init__(self, module: types.ModuleType, root: str) -> None:
        self._module = module
        self._files = []  # type: list[tuple[str, int]]
        self._last = None  # type: list[str] | None
        try:
            for path in module.paths(root):
                self._files.append((path, os.open(path, os.O_RDONLY)))
        except BaseException:
            self.close()
            raise

    def __bool__(self) -> bool:
        return bool(self._files)

    def changes(self) -> "list[str] | dict[int, str] | None":
        """Return all lines; or those that changed, by their number; or None where none did."""
        lines = []  # type: list[str]
        for path, descriptor in self._files:
            text = _read(descriptor)
            lines += [path + " " + one for one in text] if self._module.HAS_PATHS else text
        lines = self._module.shorten(lines)
        last, self._last = self._last, lines
        if last is None or len(last) != len(lines):
            return lines
        return {number: new for number, new in enumerate(lines) if new != last[number]} or None

    def forget(self) -> None:
        """Begin anew: the next changes are all lines."""
        self._last = None

    def close(self) -> None:
        """Close its files."""
        for _, descriptor in self._files:
            os.close(descriptor)
        self._files = []


class Readers:
    """The readers of all sources, kept between recordings: opening files is most of what they cost."""

    def __init__(self, root: str = "") -> None:
        self.opened_at = time.monotonic()
        self.faults = dict(FAULTS)
        self.by_name = {}  # type: dict[str, Reader]
        for name in sorted(SOURCES):
            try:
                reader = Reader(SOURCES[name], root)
            except Exception as error:  # whatever a source meets is its own, and the others go on
                self.faults[name] = _tell(error)
            else:
                if reader:
                    self.by_name[name] = reader

    def drop(self, name: str, error: Exception) -> None:
        """Go on without a source that failed."""
        self.faults[name] = _tell(error)
        self.by_name.pop(name).close()

    def close(self) -> None:
        """Close all files."""
        for reader in self.by_name.values():
            reader.close()


class Recording:
    """Samples of all sources, going to one file."""

    def __init__(self, path: str, period_s: float, readers: Readers) -> None:
        self.period_s = period_s
        self._readers = readers
        self._told = {}  # type: dict[str, str]
        for reader in readers.by_name.values():
            reader.forget()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        self._write(
            {
                "sampler": VERSION,
                "node": node_name(),
                "period_s": period_s,
                "sources": sorted(readers.by_name),
                "machine": machine(),
                "python": sys.version.split()[0],
            }
        )

    def sample(self, mark: str = "") -> None:
        """Read every source, and write what changed since the last sample."""
        line = {"t": round(time.monotonic(), 6), "w": round(time.time(), 6)}  # type: dict[str, object]
        changed = {}
        for name, reader in list(self._readers.by_name.items()):
            try:
                changes = reader.changes()
            except Exception as error:  # as in Readers
                self._readers.drop(name, error)
                continue
            if changes is not None:
                changed[name] = changes
        line["s"] = changed
        if mark:
            line["mark"] = mark
        if self._readers.faults != self._told:
            line["faults"] = self._told = dict(self._readers.faults)
        self._write(line)

    def close(self) -> None:
        """Close its file."""
        os.close(self._file)

    def _write(self, line: "dict[str, object]") -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self._file, data) :]


class Sampler:
    """Obeys commands; has at most one recording at a time."""

    def __init__(self) -> None:
        self.recording = None  # type: Recording | None
        self._readers = Readers()

    def obey(self, command: "list[str]") -> str:
        """Do as told; return what went wrong, if anything did."""
        try:
            if command[0] == "begin":
                self.end()
                if time.monotonic() - self._readers.opened_at > _REOPEN_S:
                    self._readers.close()
                    self._readers = Readers()
                path = command[1].replace("{node}", node_name())
                self.recording = Recording(path, float(command[2]), self._readers)
            if self.recording is not None and command[0] != "end":
                self.recording.sample(command[1] if command[0] == "mark" else "")
            if command[0] == "end":
                self.end()
        except OSError as error:  # a full disk, a folder that this node does not see
            self.recording = None
            return _tell(error)
        return ""

    def end(self) -> None:
        """Take a last sample, and close the recording."""
        recording, self.recording = self.recording, None
        if recording is not None:
            try:
                recording.sample()
            finally:
                recording.close()


def node_name() -> str:
    """Return what the node is known by: to Slurm, or to itself."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def machine() -> str:
    """Return what is the same for all nodes of one kernel, such as a node and its pods, and for no other."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as boot:
            return boot.read().strip()
    except OSError:
        return node_name()


def run() -> None:
    """Obey until standard input ends, and sample whenever a period has passed."""
    sampler = Sampler()
    rest = b""
    due = 0.0
    _answer("")  # only now: what is sent while the program itself is still being read may be read with it
    while True:
        recording = sampler.recording
        wait_s = max(due - time.monotonic(), 0.0) if recording else None
        if select.select([0], [], [], wait_s)[0]:
            data = os.read(0, _MOST_BYTES)
            if not data:
                break
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                command = json.loads(line.decode())
                _answer(sampler.obey(command))
                if sampler.recording is not None and command[0] == "begin":
                    due = time.monotonic() + sampler.recording.period_s
        elif recording is not None:
            try:
                recording.sample()
            except OSError:  # a full disk; what is written stays readable, and the run is not to blame
                sampler.recording = None
            passed = time.monotonic() - due
            due += recording.period_s * (
                1 + passed // recording.period_s
            )  # periods that were missed are gone
    sampler.end()


def _answer(fault: str) -> None:
    times = {"t": time.monotonic(), "w": time.time(), "fault": fault}
    os.write(1, json.dumps(times).encode() + b"\n")


def _read(descriptor: int) -> "list[str]":
    """Return the lines of a file from its beginning; files of /proc come in pieces of their own choice."""
    parts = []  # type: list[bytes]
    length = 0
    while True:
        part = os.pread(descriptor, _MOST_BYTES, length)
        if not part:
            return b"".join(parts).decode("utf-8", "replace").splitlines()
        parts.append(part)
        length += len(part)


def _tell(error: Exception) -> str:
    return "{}: {}".format(type(error).__name__, error)
