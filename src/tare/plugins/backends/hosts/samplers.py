"""Keep a sampler on each host. It sleeps between the runs that it records."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

import msgspec

from tare.core import log
from tare.core.clock import SteadyClock
from tare.core.log import fields
from tare.core.telemetry import Group, Host, end_mark
from tare.plugins.backends.ownership import process_labels

_LOG = log.of("telemetry")

_START_S = 20.0  # for the agent to reach the host, and for Python to start
_ANSWER_S = 5.0  # for an answer of a running sampler; a run waits no longer for its telemetry
_END_S = 1.0  # for a killed sampler to end; one that hangs in the kernel may never end
_MOST_STARTS = 3  # of a sampler that dies in one run after the other on the same host
_HERE = "localhost"


class _Answer(msgspec.Struct, frozen=True):
    t: float
    w: float
    fault: str = ""
    held: str = ""


_ANSWER = msgspec.json.Decoder(_Answer)


class _Reply(NamedTuple):
    """A sampler's answer, with the times of the question and the answer by the clock of the head node."""

    answer: _Answer
    asked_at: float
    answered_at: float


class Samplers:
    """Starts samplers through an agent (see core.site.Site), and tells them when to record.

    `program` is the text of the sampler. `label` is the label of its processes. A sampler ends when its
    standard input closes, so none remains when this process is gone. `on_start` is called with the pid of
    each sampler, so that it is not treated as a job's orphan.
    """

    def __init__(
        self,
        *,
        program: str,
        label: str,
        agent: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        on_start: Callable[[int], None] = lambda pid: None,
        raw_name: Callable[[str], str],
    ) -> None:
        self._program = program.encode()
        self._agent = list(agent)
        self._env = {**os.environ, **(env or {}), process_labels.VARIABLE: label}
        self._on_start = on_start
        self._raw_name = raw_name
        self._running: dict[str | None, _Sampler] = {}
        self._n_starts: dict[str | None, int] = {}

    @contextmanager
    def watch(
        self, hosts: Sequence[str | None], folder: Path, period_s: float, group: Group | None = None
    ) -> Iterator[_Watch]:
        """Record counters of `hosts` into `folder` while entered (see core.telemetry.TelemetrySource)."""
        faults = self._start(hosts)
        watch = _Watch({host: self._running[host] for host in hosts if host in self._running}, faults)
        names = {host: str(folder / self._raw_name(host or _HERE)) for host in hosts}
        watch.begin(names, period_s, group)
        try:
            yield watch
        finally:
            watch.end()
            for host in hosts:  # only these: other runs may be recorded on other hosts at the same time
                sampler = self._running.get(host)
                if sampler is not None and sampler.is_lost:
                    del self._running[host]
                    sampler.close()
                elif sampler is not None:
                    self._n_starts[host] = 0  # a sampler that works gets all its restarts back

    def close(self) -> None:
        """End all samplers."""
        for sampler in self._running.values():
            sampler.close()
        self._running.clear()

    def _start(self, hosts: Sequence[str | None]) -> dict[str | None, str]:
        """Start the samplers that do not run yet, all at once.

        Return an error for each that did not start.
        """
        fresh: dict[str | None, _Sampler] = {}
        faults: dict[str | None, str] = {}
        for host in hosts:
            if host in self._running:
                continue
            if self._n_starts.get(host, 0) >= _MOST_STARTS:
                faults[host] = f"its sampler ended {_MOST_STARTS} times, and is not started again"
                continue
            self._n_starts[host] = self._n_starts.get(host, 0) + 1
            try:
                fresh[host] = _Sampler(self._command(host), self._env)
            except OSError as error:
                faults[host] = f"its sampler could not be started: {error.strerror}"
            else:
                self._on_start(fresh[host].pid)
        if not fresh:
            return faults
        for sampler in fresh.values():
            sampler.send(self._program)
        for _ in _receive_answers(fresh, _START_S):
            pass
        for host, sampler in fresh.items():
            if sampler.is_lost:
                faults[host] = f"no sampler came up: {sampler.last_words() or 'no Python 3.6 or newer?'}"
                sampler.close()
            else:
                self._running[host] = sampler
        return faults

    def _command(self, host: str | None) -> list[str]:
        """Return the command that starts Python on `host`. The program follows on its standard input."""
        loader = (
            f"import sys;exec(compile(sys.stdin.buffer.read({len(self._program)}),'tare-sampler','exec'))"
        )
        python = ["python3", "-I", "-S", "-c", loader]
        if host is None:
            return python
        label = f"{process_labels.VARIABLE}={self._env[process_labels.VARIABLE]}"
        return [*self._agent, host, f"exec {shlex.join(['env', label, *python])}"]


class _Sampler:
    """A sampler on one host, and the pipes to it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.is_lost = False
        self._rest = b""
        _LOG.debug("command", extra=fields(argv=command))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            bufsize=0,
            start_new_session=True,  # Ctrl-C goes to the runner, which ends the sampler later
        )
        self._commands = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)

    @property
    def pid(self) -> int:
        """Return the pid of the sampler on this machine, or of the agent that started it on another."""
        return self._process.pid

    def send(self, data: bytes) -> None:
        """Send all of `data`. Mark the sampler as lost if its pipe is closed."""
        try:
            while data:
                data = data[self._commands.write(data) or 0 :]
        except OSError:
            self.is_lost = True

    def ask(self, command: Sequence[str]) -> None:
        """Send a command, whose answer `receive` returns."""
        self.send(json.dumps(command).encode() + b"\n")

    @property
    def descriptor(self) -> int:
        """Return the file descriptor from which its answers are read."""
        return self._answers.fileno()

    def receive(self) -> _Answer | None:
        """Read the available bytes. Return the answer when all of it is there, else None."""
        data = os.read(self.descriptor, 64 * 1024)
        self.is_lost = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError, UnicodeError):  # a login script may print lines
                return _ANSWER.decode(line)
        return None

    def last_words(self) -> str:
        """Return the last line that the sampler or its agent printed to standard error."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # what the agent started may outlive it
            _, err = self._process.communicate(timeout=_END_S)
            lines = err.decode(errors="replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""

    def close(self) -> None:
        """Close the sampler's input and wait for its end. Kill it if it does not end in time."""
        with contextlib.suppress(OSError):
            self._commands.close()
        try:
            self._process.wait(timeout=0.2 if self.is_lost else _ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_END_S)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def _receive_answers(
    samplers: Mapping[str | None, _Sampler], within_s: float
) -> Iterator[tuple[str | None, _Answer]]:
    """Yield the next answer of each sampler as it arrives.

    All that do not answer within `within_s` are lost.
    """
    deadline = time.monotonic() + within_s
    waiting = {one.descriptor: (host, one) for host, one in samplers.items() if not one.is_lost}
    poller = select.poll()  # select(2) takes no descriptor above 1023, and each sampler needs three
    for descriptor in waiting:
        poller.register(descriptor, select.POLLIN)
    while waiting and (left_s := deadline - time.monotonic()) > 0:
        for descriptor, _ in poller.poll(left_s * 1000):
            host, one = waiting[descriptor]
            answer = one.receive()
            if answer is not None or one.is_lost:
                poller.unregister(descriptor)
                del waiting[descriptor]
            if answer is not None:
                yield host, answer
    for _, one in waiting.values():
        one.is_lost = True


class _Watch:
    """One run that samplers record (see core.telemetry.TelemetrySession)."""

    def __init__(self, samplers: Mapping[str | None, _Sampler], faults: Mapping[str | None, str]) -> None:
        self._samplers = dict(samplers)
        self._faults = dict(faults)
        self._asked_at: dict[str | None, float] = {}
        self._clocks: dict[str | None, list[_Reply]] = {host: [] for host in samplers}
        self._held: dict[str, bytes] = {}
        self._clock = SteadyClock()
        self._is_ended = False

    def begin(self, files: Mapping[str | None, str], period_s: float, group: Group | None) -> None:
        """Have each sampler take its first sample, and read a control group from the next sample on.

        Other hosts write from the beginning, so that one that cannot write is known at once, however short
        the run is.
        """
        self._send(
            lambda host: [
                "hold" if host is None else "begin",
                files[host],
                str(period_s),
                *_folder(group, host),
            ]
        )

    def stage_began(self, name: str, group: Group | None) -> None:
        """Have each sampler take a sample now (see core.telemetry.TelemetrySession)."""
        self._send(lambda host: ["mark", name, *_folder(group, host)])

    def stage_ended(self, name: str, *, is_last: bool) -> None:
        """Have each sampler take a sample now (see core.telemetry.TelemetrySession)."""
        self._is_ended = is_last
        self._send(lambda host: ["end" if is_last else "mark", end_mark(name)])

    def end(self) -> None:
        """Have each sampler take its last sample, unless that of the end of a stage was its last."""
        if not self._is_ended:
            self._send(lambda host: ["end"])
        self.await_samples()

    def hosts(self) -> dict[str, Host]:
        """Return each host with the offset of its clock, computed from its quickest answer."""
        return {host or _HERE: self._host(host) for host in (*self._samplers, *self._faults)}

    def held(self) -> dict[str, bytes]:
        """Return the recordings that are in no file, by host."""
        return self._held

    def _host(self, host: str | None) -> Host:
        fault = self._faults.get(host, "")
        replies = self._clocks.get(host)
        if not replies:
            return Host(fault=fault)
        best = min(replies, key=lambda reply: reply.answered_at - reply.asked_at)
        # As in NTP (RFC 5905, 8): the answer came halfway, plus or minus half of the round trip.
        middle = (best.asked_at + best.answered_at) / 2
        return Host(
            offset_s=best.answer.w - middle,
            zero_at=middle - best.answer.t,
            offset_error_s=(best.answered_at - best.asked_at) / 2,
            fault=fault,
        )

    def _send(self, command: Callable[[str | None], Sequence[str]]) -> None:
        """Send each host its command, once all have answered the one before."""
        self.await_samples()
        for host, sampler in self._samplers.items():
            if host not in self._faults:
                self._asked_at[host] = self._clock()
                sampler.ask(command(host))

    def await_samples(self) -> None:
        """Wait for all answers. A host that does not answer is given up."""
        if not self._asked_at:
            return
        asked_at, self._asked_at = self._asked_at, {}
        for host, answer in _receive_answers({host: self._samplers[host] for host in asked_at}, _ANSWER_S):
            if answer.fault:
                self._faults[host] = f"its sampler could not record: {answer.fault}"
            else:
                self._clocks[host].append(_Reply(answer, asked_at[host], self._clock()))
            if answer.held:
                self._held[host or _HERE] = answer.held.encode()
        for host in asked_at:
            if self._samplers[host].is_lost:
                self._faults[host] = "its sampler was gone, or did not answer, before the run had ended"


def _folder(group: Group | None, host: str | None) -> list[str]:
    """Return the folder of a control group if it is on `host`."""
    return [str(group.folder)] if group and group.host == host else []
