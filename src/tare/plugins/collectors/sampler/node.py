"""The sampler: reads small files of /proc and /sys during a run, and writes down what changed.

This file is sent to nodes unchanged (see bundle), so it may use only Python 3.6 and its standard library. It
takes commands on standard input, a JSON list in each line. It prints a line when it is ready and after each
command. It ends when standard input ends, so that nothing remains when the process that started it is gone.
Without commands it sleeps.

- ``["begin", PATH, PERIOD_S]`` writes a recording to PATH; ``{node}`` in PATH is the node's name
- ``["mark", NAME]``  takes a sample now, with a name
- ``["enter", GROUP]`` also samples the run's control group, a folder, from the next sample on
- ``["leave"]``       reads that group a last time, for the next sample, and closes it
- ``["end"]``         takes a last sample, unless the one before is that of the end of a stage

A recording is JSON lines, written one by one, so that at most one is lost if the sampler is ended. It holds
text, not numbers, and only the lines that changed. Parsing would take CPU time of the node that is measured.
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
_BOOTTIME = 7  # CLOCK_BOOTTIME of clock_gettime(2), in Python since 3.7
_MOST_SHARE = 0.01  # of a core that reading one source may take
_OF_GROUP = "run"  # the source that reads a run's control group
_REOPEN_S = 60.0  # then a new recording opens files anew: one may be mounted
_ENDED = " ended"  # at the end of the name of a sample that is taken when a stage ends


def add_source(name: str, text: str) -> None:
    """Add the source whose file holds `text`. A broken source is recorded, and the others continue."""
    module = types.ModuleType(name)
    try:
        exec(compile(text, name + ".py", "exec"), module.__dict__)  # noqa: S102  # our own text, shipped with this
    except Exception as error:  # one broken source does not stop the others
        FAULTS[name] = _describe(error)
    else:
        SOURCES[name] = module


class Reader:
    """One source. Its files stay open, because opening them costs more than reading them.

    `faults` are the current errors: of the source by its name, or of single files by their path.
    """

    def __init__(self, name: str, root: str, kind: str = "paths") -> None:
        self.faults = {}  # type: dict[str, str]
        self.has_failed = False  # since it was opened; its files may exist again
        self._name = name
        self._module = SOURCES[name]
        self._files = []  # type: list[tuple[str, int]]
        self._last = None  # type: list[str] | None
        self._final = None  # type: list[str] | dict[int, str] | None
        self._is_finished = False
        self._due = 0.0
        self._pause_s = getattr(self._module, "pause_s", lambda lines: 0.0)
        paths = getattr(self._module, kind)(root)
        for path in paths:
            try:
                self._files.append((path, os.open(path, os.O_RDONLY)))
            except OSError as error:
                if len(paths) == 1:
                    raise
                self.faults[path] = _describe(error)

    def __bool__(self) -> bool:
        return bool(self._files or self.faults)

    def is_due(self) -> bool:
        """Return whether to read it again now.

        An expensive source, such as a big node's mounts, waits longer.
        """
        return time.monotonic() >= self._due

    def changes(self) -> "list[str] | dict[int, str] | None":
        """Return all lines, or the changed lines by number, or None if none changed or reading failed."""
        if self._is_finished:
            final, self._final = self._final, None
            return final
        began = time.process_time()
        last, self._last = self._last, None  # after a failure, all lines are written
        try:
            self._last = lines = list(self._module.shorten(self._lines()))
        except Exception as error:  # an error in one source does not stop the others
            self.faults[self._name] = _describe(error)
            self.has_failed = True
            return None
        self.faults.pop(self._name, None)
        cost_s = time.process_time() - began
        self._due = time.monotonic() + max(cost_s / _MOST_SHARE, self._pause_s(lines))
        if last is None or len(last) != len(lines):
            return lines
        return {number: new for number, new in enumerate(lines) if new != last[number]} or None

    def finish(self) -> None:
        """Read the source a last time, for the next sample, and close its files."""
        self._final = self.changes()
        self._is_finished = True
        self.close()

    def forget(self) -> None:
        """Start again: the next changes are all lines."""
        self._last = None

    def close(self) -> None:
        """Close its files."""
        for _, descriptor in self._files:
            os.close(descriptor)
        self._files = []

    def _lines(self) -> "list[str]":
        lines = []  # type: list[str]
        for path, descriptor in self._files:
            try:
                text = _read(descriptor)
            except OSError as error:  # a core, port or group that is gone and may come back
                if len(self._files) == 1:
                    raise
                self.faults[path] = _describe(error)
                self.has_failed = True
                continue
            self.faults.pop(path, None)
            lines += [path + " " + one for one in text] if self._module.HAS_PATHS else text
        return lines


class Readers:
    """The readers of all sources. They are kept between recordings, because opening files is expensive."""

    def __init__(self, root: str = "") -> None:
        self._opened_at = time.monotonic()
        self._faults = dict(FAULTS)
        self.by_name = {}  # type: dict[str, Reader]
        for name in sorted(SOURCES):
            try:
                reader = Reader(name, root)
            except Exception as error:  # as in Reader
                self._faults[name] = _describe(error)
            else:
                if reader:
                    self.by_name[name] = reader

    def enter(self, group: str) -> None:
        """Also read a run's control group, given by its folder. An empty `group` ends that."""
        reader = self.by_name.pop(_OF_GROUP, None)
        if reader is not None:
            reader.close()
        if group and _OF_GROUP in SOURCES:
            self.by_name[_OF_GROUP] = Reader(_OF_GROUP, group, "group_paths")

    def leave(self) -> None:
        """Read the control group a last time: it is about to be removed."""
        if _OF_GROUP in self.by_name:
            self.by_name[_OF_GROUP].finish()

    def are_stale(self) -> bool:
        """Return whether new files may exist since these were opened."""
        has_failed = any(reader.has_failed for reader in self.by_name.values())
        return has_failed or time.monotonic() - self._opened_at > _REOPEN_S

    def changes(self, are_all_due: bool) -> "dict[str, object]":
        """Return the changes by source."""
        changed = {}  # type: dict[str, object]
        for name, reader in self.by_name.items():
            changes = reader.changes() if are_all_due or reader.is_due() else None
            if changes is not None:
                changed[name] = changes
        return changed

    def faults(self) -> "dict[str, str]":
        """Return the current faults."""
        faults = dict(self._faults)
        for reader in self.by_name.values():
            faults.update(reader.faults)
        return faults

    def close(self) -> None:
        """Close all files."""
        for reader in self.by_name.values():
            reader.close()


class Recording:
    """Samples of all sources, written to one file."""

    def __init__(self, path: str, period_s: float, readers: Readers) -> None:
        self.period_s = period_s
        self._readers = readers
        self._written_faults = {}  # type: dict[str, str]
        for reader in readers.by_name.values():
            reader.forget()
        name = path.encode("utf-8", "surrogateescape")  # Python 3.6 would use ASCII in the C locale
        self.is_ended = False  # whether its last sample is that of the end of a stage
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)

    def begin(self) -> None:
        """Write the heading line, and take a first sample."""
        self._write(
            {
                "sampler": VERSION,
                "node": node_name(),
                "period_s": self.period_s,
                "sources": sorted(self._readers.by_name),
                "machine": machine(),
                "python": sys.version.split()[0],
            }
        )
        self.sample()

    def sample(self, mark: str = "", is_periodic: bool = False) -> None:
        """Write what changed since the last sample. If `is_periodic`, read only sources that are due."""
        line = {"t": round(steady_s(), 6), "w": round(time.time(), 6)}  # type: dict[str, object]
        line["s"] = self._readers.changes(not is_periodic)
        self.is_ended = mark.endswith(_ENDED)
        if mark:
            line["mark"] = mark
        faults = self._readers.faults()
        if faults != self._written_faults:
            line["faults"] = self._written_faults = faults
        self._write(line)

    def close(self) -> None:
        """Close its file."""
        os.close(self._file)

    def _write(self, line: "dict[str, object]") -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self._file, data) :]


class Sampler:
    """Executes commands. Has at most one recording at a time."""

    def __init__(self) -> None:
        self.recording = None  # type: Recording | None
        self._fault = ""
        self._readers = Readers()

    def execute(self, command: "list[str]") -> str:
        """Execute a command. Return the error, if one happened since the recording began."""
        try:
            if command[0] == "begin":
                self._begin(command[1], float(command[2]))
            elif command[0] == "end":
                self.end()
            elif command[0] == "enter":
                self._readers.enter(command[1])
            elif command[0] == "leave":
                self._readers.leave()
            elif self.recording is not None:
                self.recording.sample(command[1])
        except OSError as error:
            self._give_up(error)
        return self._fault

    def sample(self) -> None:
        """Take a periodic sample."""
        try:
            if self.recording is not None:
                self.recording.sample(is_periodic=True)
        except OSError as error:
            self._give_up(error)

    def end(self) -> None:
        """Take a last sample, and close the recording."""
        recording, self.recording = self.recording, None
        if recording is not None:
            try:
                if not recording.is_ended:
                    recording.sample()
            finally:
                recording.close()

    def _begin(self, path: str, period_s: float) -> None:
        self.end()
        self._fault = ""
        self._readers.enter("")
        if self._readers.are_stale():
            self._readers.close()
            self._readers = Readers()
        self.recording = Recording(path.replace("{node}", node_name()), period_s, self._readers)
        self.recording.begin()

    def _give_up(self, error: OSError) -> None:
        """End the recording, as on a full disk.

        What is written stays readable; the next answer has the error.
        """
        self._fault = _describe(error)
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.close()


def node_name() -> str:
    """Return the node's name, as Slurm knows it or else its own."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def steady_s() -> float:
    """Return the seconds since the node started, including time in suspension."""
    return time.clock_gettime(_BOOTTIME)


def machine() -> str:
    """Return an id that all nodes of one kernel share, such as a node and its pods, and no others."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as boot:
            return boot.read().strip()
    except OSError:
        return node_name()


def run() -> None:
    """Execute commands until standard input ends, and take a sample after each period."""
    sampler = Sampler()
    rest = b""
    due = 0.0
    _answer("")  # only now: earlier commands could be read as part of the program
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
                command = json.loads(line.decode("utf-8", "surrogateescape"))
                _answer(sampler.execute(command))
                if sampler.recording is not None and command[0] == "begin":
                    due = time.monotonic() + sampler.recording.period_s
        elif recording is not None:
            sampler.sample()
            n_missed = (time.monotonic() - due) // recording.period_s  # missed periods are skipped
            due += recording.period_s * (1 + n_missed)
    sampler.execute(["end"])


def _answer(fault: str) -> None:
    times = {"t": steady_s(), "w": time.time(), "fault": fault}
    os.write(1, json.dumps(times).encode() + b"\n")


def _read(descriptor: int) -> "list[str]":
    """Return a file's lines from its beginning. Files of /proc may return pieces of any size."""
    parts = []  # type: list[bytes]
    length = 0
    while True:
        part = os.pread(descriptor, _MOST_BYTES, length)
        if not part:
            return b"".join(parts).decode("utf-8", "replace").splitlines()
        parts.append(part)
        length += len(part)


def _describe(error: Exception) -> str:
    text = "{}: {}".format(type(error).__name__, error)
    return text.encode("utf-8", "replace").decode()  # a path may hold bytes that are not text
