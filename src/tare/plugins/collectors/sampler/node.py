"""The sampler: reads small files of /proc and /sys during a run, and writes down what changed.

This file is sent to nodes with readers.py and the sources, as one program (see bundle), so it may use only
Python 3.6 and its standard library. It takes commands on standard input, a JSON list in each line. It prints
a line when it is ready and after each command. It ends when standard input ends, so that nothing remains when
the process that started it is gone. Without commands it sleeps.

- ``["begin", PATH, PERIOD_S]`` writes a recording to PATH; ``{node}`` in PATH is the node's name
- ``["hold", PATH, PERIOD_S]``  does so only from the end of the first period on; of a run that is over
  before, the answer to "end" has the recording
- ``["mark", NAME]``  takes a sample now, with a name
- ``["end"]``         takes a last sample, unless the one before is that of the end of a stage
- ``["end", NAME]``   takes a last sample, with a name

One more word after "begin", "hold" and "mark" is the folder of the run's control group, which is sampled,
too, from the next sample on. Without that word its files are closed.

A recording is JSON lines, written one by one, so that at most one is lost if the sampler is ended. It holds
text, not numbers, and only the lines that changed. Parsing would take CPU time of the node that is measured.
"""

import json
import os
import select
import socket
import sys
import time

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.readers import Readers, describe

VERSION = 1
_MOST_OF_COMMANDS = 1 << 16
_BOOTTIME = 7  # CLOCK_BOOTTIME of clock_gettime(2), in Python since 3.7
_ENDED = " ended"  # at the end of the name of a sample that is taken when a stage ends
_BEGINNINGS = ("begin", "hold")
_encoded = json.JSONEncoder(separators=(",", ":")).encode


class Recording:
    """Samples of all sources, written to one file; if it `is_held`, only from the first period's end on."""

    def __init__(self, path: str, period_s: float, readers: Readers, is_held: bool) -> None:
        self.period_s = period_s
        self._readers = readers
        self._written_faults = {}  # type: dict[str, str]
        for reader in readers.by_name.values():
            reader.forget()
        self.is_ended = False  # whether its last sample is that of the end of a stage
        self._path = path.encode("utf-8", "surrogateescape")  # Python 3.6 would use ASCII in the C locale
        self._file = None  # type: int | None
        self._unwritten = ""
        if not is_held:
            self.write()

    def begin(self, node: "dict[str, str]") -> None:
        """Write the heading line about this `node`, and take a first sample."""
        heading = {"sampler": VERSION, "period_s": self.period_s, "sources": sorted(self._readers.by_name)}
        self._unwritten = _encoded(dict(heading, **node)) + "\n"
        self.sample()

    def sample(self, mark: str = "", is_periodic: bool = False) -> None:
        """Record what changed since the last sample. If `is_periodic`, read only sources that are due."""
        line = {"t": round(steady_s(), 6), "w": round(time.time(), 6)}  # type: dict[str, object]
        line["s"] = self._readers.changes(not is_periodic)
        self.is_ended = mark.endswith(_ENDED)
        if mark:
            line["mark"] = mark
        faults = self._readers.faults()
        if faults != self._written_faults:
            line["faults"] = self._written_faults = faults
        self._unwritten += _encoded(line) + "\n"
        if is_periodic or self._file is not None:
            self.write()

    def write(self) -> None:
        """Write to its file what is held, and from here on every sample."""
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        data, self._unwritten = self._unwritten.encode(), ""
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> str:
        """Close its file. Return what is still held."""
        if self._file is not None:
            os.close(self._file)
        return self._unwritten


class Sampler:
    """Executes commands. Has at most one recording at a time."""

    def __init__(self) -> None:
        self.recording = None  # type: Recording | None
        self._fault = ""
        self._readers = Readers()
        self._node = {"node": node_name(), "machine": machine(), "python": sys.version.split()[0]}

    def execute(self, command: "list[str]") -> "dict[str, str]":
        """Execute a command. Return an answer: the error, if one happened since the recording began."""
        answer = {}  # type: dict[str, str]
        try:
            if command[0] in _BEGINNINGS:
                self._begin(command[1], float(command[2]), command[0] == "hold")
                self._readers.follow(*command[3:])
            elif command[0] == "end":
                answer["held"] = self.end(*command[1:])
            elif self.recording is not None:
                self.recording.sample(command[1])
                self._readers.follow(*command[2:])
        except OSError as error:
            self._give_up(error)
        return dict(answer, fault=self._fault)

    def sample(self) -> None:
        """Take a periodic sample."""
        try:
            if self.recording is not None:
                self.recording.sample(is_periodic=True)
        except OSError as error:
            self._give_up(error)

    def end(self, mark: str = "") -> str:
        """Take a last sample, and close the files of the recording and of the run's control group.

        Return what the recording still holds.
        """
        recording, self.recording = self.recording, None
        held = ""
        if recording is not None:
            try:
                if mark or not recording.is_ended:
                    recording.sample(mark)
            finally:
                held = recording.close()
        self._readers.follow()
        return held

    def finish(self) -> None:
        """Take a last sample, of a recording that nobody will hear of: write what it holds."""
        try:
            if self.recording is not None:
                self.recording.write()
        except OSError as error:
            self._give_up(error)
        self.execute(["end"])

    def _begin(self, path: str, period_s: float, is_held: bool) -> None:
        self.end()
        self._fault = ""
        if self._readers.are_stale():
            self._readers.close()
            self._readers = Readers()
        path = path.replace("{node}", self._node["node"])
        self.recording = Recording(path, period_s, self._readers, is_held)
        self.recording.begin(self._node)

    def _give_up(self, error: OSError) -> None:
        """End the recording, as on a full disk.

        What is written stays readable; the next answer has the error.
        """
        self._fault = describe(error)
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
    _answer({"fault": ""})  # only now: earlier commands could be read as part of the program
    while True:
        recording = sampler.recording
        wait_s = max(due - time.monotonic(), 0.0) if recording else None
        if select.select([0], [], [], wait_s)[0]:
            data = os.read(0, _MOST_OF_COMMANDS)
            if not data:
                break
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                command = json.loads(line.decode("utf-8", "surrogateescape"))
                _answer(sampler.execute(command))
                if sampler.recording is not None and command[0] in _BEGINNINGS:
                    due = time.monotonic() + sampler.recording.period_s
        elif recording is not None:
            sampler.sample()
            n_missed = (time.monotonic() - due) // recording.period_s  # missed periods are skipped
            due += recording.period_s * (1 + n_missed)
    sampler.finish()


def _answer(answer: "dict[str, str]") -> None:
    os.write(1, _encoded(dict(answer, t=steady_s(), w=time.time())).encode() + b"\n")
