"""Start jobs from a small process of its own: ``python -I -S spawner.py``, with a socket as standard input.

A process as large as Tare pays for a fork(2) with copies of its page tables, and then with a fault for each
page that it changes: several milliseconds of CPU time a job. This program stays small, and starts jobs by
vfork(2). It stands in a job's control group while it starts the job, so that the job is born there. So it is
with priority, too: this program gives its own session the priority, and the job is born in that session.

A request is a line of JSON, and so is its answer. ``spawning.Spawner`` sends them. To start a job::

    {"argv": [...], "cwd": ..., "env": {...}, "group": ..., "home": ..., "nice": ...}

and the descriptors of its output and its errors. `env` is added to this program's environment. `group` and
`home` are the files ``cgroup.procs`` of the job's group and of this program's, or null. `nice` is the nice
value of the job's session (sched(7), autogroups); with null, the job gets a session of its own, at 0. The
answer is ``{"pid": ..., "at": ...}``, the time by ``time.monotonic`` just before the program, or
``{"errno": ...}``, or ``{"invalid": ...}`` for what no program may be given.

To reap a job that has ended: ``{"wait": PID}``; the answer is ``{"code": ...}`` as in ``subprocess``, or null
for a process that is not a job of this program.

It imports only the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from functools import cache
from typing import Any

_CHUNK = 1 << 16
_AUTOGROUP = "/proc/self/autogroup"
_BOOST_TRIES, _BOOST_AGAIN_S = 20, 0.11


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
    is_boosted = nice is not None and _boosted_itself(nice)
    if is_boosted:
        _write(_AUTOGROUP, b"%d" % nice)  # an earlier job in this session may have changed it
    _enter(request["group"])
    try:
        began = time.monotonic()
        job = subprocess.Popen(
            request["argv"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=request["cwd"],
            env={**os.environ, **request["env"]},
            start_new_session=not is_boosted,
            process_group=0 if is_boosted else None,
        )
    except OSError as error:
        return {"errno": error.errno}
    except ValueError as error:  # a null byte
        return {"invalid": str(error)}
    finally:
        _enter(request["home"] if request["group"] else None)
    jobs[job.pid] = job
    return {"pid": job.pid, "at": began}


@cache
def _boosted_itself(nice: int) -> bool:
    """Give this program's session a nice value, and return whether this user may do that."""
    for _ in range(_BOOST_TRIES):
        try:
            _write_or_raise(_AUTOGROUP, b"%d" % nice)
        except BlockingIOError:  # without CAP_SYS_ADMIN the kernel takes one in a tenth of a second
            time.sleep(_BOOST_AGAIN_S)
        except OSError:
            return False
        else:
            return True
    return False


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
