"""Start jobs from a small process of its own: ``python -I -S spawner.py``, with a socket as standard input.

A process as large as Tare pays for a fork(2) with copies of its page tables, and then with a fault for each
page that it changes: several milliseconds of CPU time a job. This program stays small, and starts jobs by
posix_spawn(3), which costs it a third of what ``subprocess`` would. It stands in a job's control group
while it starts the job, so that the job is born there. So it is with priority, too: this program gives its
own session the priority, and the job is born in that session.

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
import errno
import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

_CHUNK = 1 << 16
_AUTOGROUP = "/proc/self/autogroup"
_BOOST_TRIES, _BOOST_AGAIN_S = 20, 0.11
_ABSENT = {errno.ENOENT, errno.ENOTDIR}
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def main() -> None:
    """Answer requests until the other end of the socket is closed."""
    jobs: set[int] = set()
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


def answer_wait(jobs: set[int], pid: int, channel: socket.socket) -> None:
    """Send the exit code of a job, and only then reap it.

    If this program is killed in between, the job's next parent still finds the code.
    """
    if pid not in jobs:
        _send(channel, {"code": None})
        return
    jobs.remove(pid)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    if ended is not None:  # None is for WNOHANG only
        _send(channel, {"code": ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status})
    os.waitpid(pid, 0)


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


def _started(jobs: set[int], request: dict[str, Any], descriptors: list[int]) -> dict[str, object]:
    out, err = descriptors  # this program ends where it is given less, for lack of descriptors
    nice = request["nice"]
    is_boosted = nice is not None and _boosted_itself(nice)
    if is_boosted:
        _write(_AUTOGROUP, b"%d" % nice)  # an earlier job in this session may have changed it
    _enter(request["group"])
    try:
        os.chdir(request["cwd"])
        began = time.monotonic()
        pid = _spawned(request["argv"], os.environ | request["env"], (out, err), is_boosted=is_boosted)
    except OSError as error:
        return {"errno": error.errno}
    except ValueError as error:  # a null byte
        return {"invalid": str(error)}
    finally:
        os.chdir("/")  # a folder in which a process works cannot be unmounted
        _enter(request["home"] if request["group"] else None)
    jobs.add(pid)
    return {"pid": pid, "at": began}


def _spawned(argv: list[str], env: Mapping[str, str], outputs: tuple[int, int], *, is_boosted: bool) -> int:
    """Start a program in this folder, and return its pid; `outputs` get its output and its errors.

    It leads a session of its own or, boosted, a process group of its own in this program's session. Raises
    ValueError for a null byte, and OSError as ``subprocess`` does: unlike execvp(3), no shell runs a file of
    no known format.
    """
    for one in outputs:
        os.set_inheritable(one, False)  # they are given as 1 and 2 only
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
        *((os.POSIX_SPAWN_DUP2, one, place) for place, one in enumerate(outputs, 1)),
    ]
    how = {"setpgroup": 0} if is_boosted else {"setsid": True}
    fault = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in _found(argv[0], env):
        try:
            return os.posix_spawn(path, argv, env, file_actions=actions, setsigdef=_IGNORED_BY_PYTHON, **how)
        except OSError as error:
            if error.errno not in _ABSENT:
                fault = error
    raise fault


def _found(program: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths that `program` may have: its own, or those below the folders of the job's PATH."""
    if os.path.dirname(program):  # noqa: PTH120  # pathlib takes long to import
        yield program
        return
    for folder in os.get_exec_path(env):
        path = os.path.join(folder, program)  # noqa: PTH118  # as above
        try:
            os.stat(path)  # noqa: PTH116  # as above; to start a program in vain would take a process
        except OSError as error:
            if error.errno in _ABSENT:
                continue
        yield path


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
    main()
