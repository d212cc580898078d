"""Have jobs started by the program of `spawner`, wait for their end, and reap them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from tare.core.interrupts import interrupts_deferred
from tare.plugins.backends.process import spawner
from tare.plugins.backends.process.control_groups import ControlGroup

_LOST = "the process that starts jobs ended"
_LONG_MS = 1000


class Start(NamedTuple):
    """What to start: a command, its folder, additions to its environment, and its two output files.

    The job is born in `group`, and in a session with the nice value `nice` (sched(7), autogroups), where this
    user may do so. Without `nice` it is born in a session of its own.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    outputs: tuple[int, int]
    group: ControlGroup | None = None
    nice: int | None = None


class StartedJob:
    """A job's first process, which leads its process group; it `began` then, by ``time.monotonic``.

    `returncode` is None until it was reaped, as in ``subprocess``. Its pid is its own for so long.
    """

    def __init__(self, pid: int, began: float, reap: Callable[[int], int]) -> None:
        self.pid = pid
        self.began = began
        self.returncode: int | None = None
        self._descriptor = os.pidfd_open(pid)
        self._reap = reap

    def has_ended(self, timeout_s: float) -> bool:
        """Wait for its end without polling (pidfd_open(2)). Return False on time-out."""
        if self.returncode is not None:
            return True
        waiter = select.poll()
        waiter.register(self._descriptor, select.POLLIN)
        return bool(waiter.poll(timeout_s * 1000))

    def wait(self) -> int:
        """Wait for its end, reap it, and return its exit code, or −N after signal N."""
        if self.returncode is None:
            while not self.has_ended(3600.0):
                pass
            with interrupts_deferred():  # it can be reaped once
                self.returncode = self._reap(self.pid)
                os.close(self._descriptor)
        return self.returncode


class Spawner:
    """The program that starts jobs, with the environment `env`; it runs from the first job on.

    `home` is the control group of this process, if jobs get groups of their own. `on_start` is called with
    the program's pid. If somebody ends the program, the next job starts another one.
    """

    def __init__(self, env: Mapping[str, str], home: Path | None, on_start: Callable[[int], None]) -> None:
        self._env = dict(env)
        self._home = home
        self._on_start = on_start
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._lock = threading.Lock()

    def start(self, what: Start) -> StartedJob:
        """Start a job in a process group of its own.

        Raises OSError if it cannot be started, and ValueError if no program may be given such words.
        """
        request = {
            "argv": list(what.argv),
            "cwd": str(what.cwd),
            "env": dict(what.env),
            "group": str(what.group.processes) if what.group else None,
            "home": str(ControlGroup(self._home).processes) if self._home else None,
            "nice": what.nice,
        }
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self.close()
            answer = self._ask(request, what.outputs)
        if answer is None:
            raise OSError(errno.EAGAIN, _LOST)
        if "errno" in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]))
        if "invalid" in answer:
            raise ValueError(answer["invalid"])
        try:
            return StartedJob(answer["pid"], answer["at"], self._reap)
        except OSError:  # no descriptor is left
            os.kill(answer["pid"], signal.SIGKILL)
            self._reap(answer["pid"])
            raise

    def close(self) -> None:
        """End the program. Jobs that still run become children of this process, if it is a subreaper."""
        if self._process is not None:
            self._process.kill()  # it may wait for a dead disk
            self._process.wait()
            self._process = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def __enter__(self) -> Spawner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reap(self, pid: int) -> int:
        """Return the exit code of a job that has ended.

        If the program that started it was ended, the kernel gave the job to this process.
        """
        with self._lock:
            answer = self._ask({"wait": pid}) if self._channel is not None else None
        if answer is not None and answer["code"] is not None:
            return int(answer["code"])
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _ask(self, request: Mapping[str, object], descriptors: Sequence[int] = ()) -> dict[str, Any] | None:
        """Return the answer to a request; None if the program has ended, and then it is forgotten.

        A program whose answer was not read is ended, too: the next request would get that answer.
        """
        channel = self._channel or self._open()
        answer = b""
        try:
            line = json.dumps(request).encode() + b"\n"
            sent = socket.send_fds(channel, [line], list(descriptors)) if descriptors else 0
            channel.sendall(line[sent:])
            self._wake_until_answered(channel)
            answer, _ = spawner.receive(channel)
        except OSError:
            return None
        finally:
            if not answer:
                self.close()
        found: dict[str, Any] | None = json.loads(answer) if answer else None
        return found

    def _wake_until_answered(self, channel: socket.socket) -> None:
        """Wait for an answer. If it takes long, the program may have been stopped, and is told to go on."""
        waiter = select.poll()
        waiter.register(channel, select.POLLIN)
        while not waiter.poll(_LONG_MS):
            if self._process is not None:
                self._process.send_signal(signal.SIGCONT)

    def _open(self) -> socket.socket:
        is_utf8 = sys.getfilesystemencoding() == "utf-8"  # it encodes names as we do, in any locale
        with contextlib.ExitStack() as opened:
            ours, theirs = (opened.enter_context(one) for one in socket.socketpair())
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", f"utf8={is_utf8:d}", spawner.__file__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._env,
                start_new_session=True,
            )
            theirs.close()
            opened.pop_all()
        self._on_start(self._process.pid)
        self._channel = ours
        return ours
