"""Start jobs from a small process of its own: ``python -I -S spawner.py``, with a socket as standard input.

A process as large as Tare pays for a fork(2) with copies of its page tables, and then with a fault for each
page that it changes: several milliseconds of CPU time a job. This program stays small, and starts jobs by
vfork(2), or by fork(2) if their session gets a priority. It stands in a job's control group while it starts
the job, so that the job is born there.

A request is a line of JSON, and so is its answer. ``spawning.Spawner`` sends them. To start a job::

    {"argv": [...], "cwd": ..., "env": {...}, "group": ..., "home": ..., "nice": ...}

and the descriptors of its output and its errors. `env` is added to this program's environment. `group` and
`home` are the files ``cgroup.procs`` of the job's group and of this program's, or null. `nice` is the nice
value of the job's session (sched(7), autogroups), or null. The answer is ``{"pid": ..., "at": ...}``, the
time by ``time.monotonic`` just before the program, or ``{"errno": ...}``, or ``{"invalid": ...}`` for what no
program may be given.

To reap a job that has ended: ``{"wait": PID}``; the answer is ``{"code": ...}`` as in ``subprocess``, or null
for a process that is not a job of this program.

It imports only the standard library.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import socket
import struct
import subprocess
import time
from functools import cache, partial
from typing import Any

_CHUNK = 1 << 16
_CLOCK = struct.Struct("d")
_AUTOGROUP = "/proc/self/autogroup"


def main() -> None:
    """Answer requests until the other end of the socket is closed."""
    jobs: dict[int, subprocess.Popen[bytes]] = {}
    _drop_coerced_locale()
    with socket.socket(fileno=0) as channel:
        while True:
            line, descriptors = receive(channel)
            if not line:
                return
            request = json.loads(line)
            if "wait" in request:
                answer_wait(jobs, request["wait"], channel)
                continue
            answer = _started(jobs, request, descriptors)
            for one in descriptors:
                os.close(one)
            _send(channel, answer)


def answer_wait(jobs: dict[int, subprocess.Popen[bytes]], pid: int, channel: socket.socket) -> None:
    """Send the exit code of a job, and only then reap it.

    If this program is killed in between, the job's next parent still finds the code.
    """
    job = jobs.pop(pid, None)
    if job is None:
        _send(channel, {"code": None})
        return
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    if ended is not None:  # None is for WNOHANG only
        _send(channel, {"code": ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status})
    job.wait()


def _send(channel: socket.socket, answer: dict[str, object]) -> None:
    channel.sendall(json.dumps(answer).encode() + b"\n")


def _drop_coerced_locale() -> None:
    """Remove the ``LC_CTYPE`` that Python adds to its environment in the locale C (PEP 538), for the jobs."""
    with open("/proc/self/environ", "rb") as given:  # noqa: PTH123  # pathlib takes long to import
        if b"\0LC_CTYPE=" not in b"\0" + given.read():
            os.environ.pop("LC_CTYPE", None)


def receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next line and the descriptors that came with it; an empty line at the end."""
    line, descriptors, _, _ = socket.recv_fds(channel, _CHUNK, 2)
    while line and not line.endswith(b"\n"):
        more = channel.recv(_CHUNK)
        if not more:
            return b"", descriptors
        line += more
    return line, descriptors


def _started(
    jobs: dict[int, subprocess.Popen[bytes]], request: dict[str, Any], descriptors: list[int]
) -> dict[str, object]:
    out, err = descriptors
    nice = request["nice"]
    _enter(request["group"])
    try:
        with mmap.mmap(-1, _CLOCK.size) as clock:  # shared with the child
            _CLOCK.pack_into(clock, 0, time.monotonic())
            job = subprocess.Popen(
                request["argv"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=request["cwd"],
                env={**os.environ, **request["env"]},
                start_new_session=True,
                preexec_fn=partial(_boost, nice, clock) if nice is not None and _may_boost(nice) else None,
            )
            (began,) = _CLOCK.unpack_from(clock)
    except OSError as error:
        return {"errno": error.errno}
    except ValueError as error:  # a null byte
        return {"invalid": str(error)}
    finally:
        _enter(request["home"] if request["group"] else None)
    jobs[job.pid] = job
    return {"pid": job.pid, "at": began}


def _boost(nice: int, clock: mmap.mmap) -> None:
    """Give the session of this process a nice value, if possible, and then read the clock.

    The child does it just before its program. The parent may go on when a short program has ended.
    """
    _write(_AUTOGROUP, b"%d" % nice)
    _CLOCK.pack_into(clock, 0, time.monotonic())


@cache
def _may_boost(nice: int) -> bool:
    """Return whether this user may give a session this nice value, by trying it on this program's own."""
    try:
        _write_or_raise(_AUTOGROUP, b"%d" % nice)
    except BlockingIOError:  # without CAP_SYS_ADMIN the kernel takes one in a tenth of a second
        return True
    except OSError:
        return False
    return True


def _enter(processes: str | None) -> None:
    """Enter the control group with this file ``cgroup.procs``, if possible."""
    if processes is not None:
        _write(processes, b"0")


def _write(path: str, data: bytes) -> None:
    """Write one of the kernel's files, if this user may."""
    with contextlib.suppress(OSError):
        _write_or_raise(path, data)


def _write_or_raise(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)  # without Popen.__del__, which reaps jobs: their next parent asks for their codes
