"""Backend `process`: jobs are processes of this machine, or of hosts that an agent reaches."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from tare.backends import marks
from tare.errors import BackendError
from tare.model.backend import Exit, Job

_GRACE_S = 2.0  # between SIGTERM, on which an MPI launcher takes its remote ranks down, and SIGKILL
_REMOTE_S = 30.0  # for a small command on another host
_UNREACHABLE = 255  # ssh(1): "exits with 255 if an error occurred"
_RECORD = "\x1e"  # ASCII record separator: cannot occur in the text files of /proc that are read
_HOST_LACKS = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class ProcessBackend:
    """Runs one job at a time, and leaves nothing behind: not on time-out, not when it is killed.

    `agent` is the command that starts another on a host (see model.Site); `env` is added to the
    environment of everything that is started. `label` is the common prefix of the jobs' labels: a
    guard process ends everything so marked if this process dies.
    """

    def __init__(
        self,
        *,
        label: str,
        agent: Sequence[str] = (),
        hosts: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._label = label
        self._agent = list(agent)
        self._hosts = list(hosts)
        self._env = {**os.environ, **(env or {})}
        self._guard: subprocess.Popen[bytes] | None = None
        self._children = f"/proc/self/task/{threading.get_native_id()}/children"
        self._kin: set[int] = set()
        self._was_subreaper = False

    def __enter__(self) -> ProcessBackend:
        self._was_subreaper = _set_subreaper(True)
        command = [sys.executable, "-I", "-S", marks.__file__, self._label]
        if self._agent:
            command += [*self._agent, "--", *self._hosts]
        self._guard = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._env,
            start_new_session=True,
        )
        self._kin = self._read_children()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None
        _set_subreaper(self._was_subreaper)

    def adopt(self) -> None:
        """Take the processes that have come to this one by now for no leftovers of its jobs."""
        self._kin = self._read_children()

    def run(self, job: Job) -> Exit:
        """Run `job` to its end or time-out (see model.Backend.run)."""
        started = time.monotonic()
        try:
            process = self._start(job)
        except OSError as error:
            return _not_started(job, error)
        try:
            is_timeout = not _wait(process, job.timeout_s)
        except BaseException:
            self._end(process, job)
            raise
        if is_timeout:
            self._end(process, job)
        code = process.wait()
        elapsed_s = time.monotonic() - started
        self._end_leftovers(job, is_abnormal=code != 0)
        if code == _UNREACHABLE and job.host is not None and not is_timeout and not self._reaches(job.host):
            return Exit(code=code, elapsed_s=elapsed_s, fault=f"host {job.host} could not be reached")
        return Exit(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            is_timeout=is_timeout,
            elapsed_s=elapsed_s,
        )

    def read(self, hosts: Sequence[str | None], paths: Sequence[str]) -> Mapping[str | None, dict[str, str]]:
        """Return the text of small files of each host (see model.Backend.read)."""
        found: dict[str | None, dict[str, str]] = {}
        readers: dict[str, subprocess.Popen[bytes]] = {}
        script = "".join(
            f"printf '{_RECORD}%s{_RECORD}' {shlex.quote(path)}; cat {shlex.quote(path)} 2>/dev/null;"
            for path in paths
        )
        for host in hosts:
            if host is None:
                found[None] = _read_here(paths)
            else:
                readers[host] = subprocess.Popen(
                    [*self._agent, host, script],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self._env,
                )
        for host, reader in readers.items():
            try:
                out, err = reader.communicate(timeout=_REMOTE_S)
            except subprocess.TimeoutExpired as error:
                reader.kill()
                raise BackendError(f"host {host} did not answer within {_REMOTE_S:g} s") from error
            if reader.returncode == _UNREACHABLE:
                raise BackendError(
                    f"host {host} could not be reached: {err.decode(errors='replace').strip()}"
                )
            parts = out.decode(errors="replace").split(_RECORD)[1:]
            found[host] = {path: text for path, text in zip(parts[::2], parts[1::2], strict=True) if text}
        return found

    def clean(self, label_prefix: str) -> int:
        """End every process so marked, here and on the hosts (see model.Backend.clean)."""
        count = marks.end_marked(label_prefix)
        script = marks.remote_end_script(label_prefix)
        cleaners = [
            subprocess.Popen(
                [*self._agent, host, script],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._env,
            )
            for host in (self._hosts if self._agent else ())
        ]
        for cleaner in cleaners:
            try:
                cleaner.wait(timeout=_REMOTE_S)
            except subprocess.TimeoutExpired:  # a host that does not answer cannot be cleaned from here
                cleaner.kill()
                cleaner.wait()
        return count

    def _reaches(self, host: str) -> bool:
        """Return whether the agent gets to `host`: a job may exit with 255 too, as Hydra does on a crash."""
        command = [*self._agent, host, "true"]
        return subprocess.run(command, capture_output=True, env=self._env, check=False).returncode == 0

    def _start(self, job: Job) -> subprocess.Popen[bytes]:
        argv = list(job.invocation.argv)
        env = {**self._env, **job.invocation.env, marks.VARIABLE: job.label}
        cwd = job.folder
        if job.host is not None:
            argv = [*self._agent, job.host, _remote_command(job)]
        with (cwd / job.stdout).open("wb") as out, (cwd / job.stderr).open("wb") as err:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        _favour(process.pid)
        return process

    def _end(self, process: subprocess.Popen[bytes], job: Job) -> None:
        """Ask the job's process group to end, then kill everything that carries its label."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            if _wait(process, _GRACE_S):
                break
        self.clean(job.label)
        process.wait()
        self._reap_orphans()

    def _end_leftovers(self, job: Job, *, is_abnormal: bool) -> None:
        """End what outlives its job: orphans come to this process, as it is their subreaper."""
        if is_abnormal or self._read_children() - self._kin:
            marks.end_marked(job.label)
            self._reap_orphans()

    def _reap_orphans(self) -> None:
        """Take leave of the dead: a PID namespace, such as the lab's, does not end before its zombies do."""
        deadline = time.monotonic() + _GRACE_S
        while (orphans := self._read_children() - self._kin) and time.monotonic() < deadline:
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.005)

    def _read_children(self) -> set[int]:
        with open(self._children, "rb") as file:  # noqa: PTH123  # pathlib doubles its cost in this hot path
            return {int(pid) for pid in file.read().split()}


def _remote_command(job: Job) -> str:
    """Return one shell command, since an agent joins its words and gives them to a shell as ssh does."""
    env = {**job.invocation.env, marks.VARIABLE: job.label}
    words = ["env", *(f"{name}={value}" for name, value in env.items()), *job.invocation.argv]
    return f"cd {shlex.quote(str(job.folder))} && exec {shlex.join(words)}"


def _favour(pid: int) -> None:
    """Let the session of `pid` go before all else on this machine, where the user may (sched(7), autogroups).

    Ranks that wait for each other suffer most from others: on two busy cores a ping-pong took 20 s
    instead of 1. Nothing remains of it when the session ends.
    """
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w") as autogroup:  # noqa: PTH123
        autogroup.write("-20")


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait for the end of `process` without polling (pidfd_open(2)); return False on time-out."""
    if process.poll() is not None:
        return True
    descriptor = os.pidfd_open(process.pid)
    try:
        waiter = select.poll()
        waiter.register(descriptor, select.POLLIN)
        return bool(waiter.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)


def _not_started(job: Job, error: OSError) -> Exit:
    reason = f"{job.invocation.argv[0]}: {error.strerror}"
    if error.errno in _HOST_LACKS:
        return Exit(fault=f"could not start a process: {reason}")
    code = 127 if error.errno == errno.ENOENT else 126  # as a shell reports them
    (job.folder / job.stderr).write_text(f"{reason}\n")
    return Exit(code=code)


def _read_here(paths: Sequence[str]) -> dict[str, str]:
    texts = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # read twice in every run
                texts[path] = file.read()
        except OSError:
            continue
    return texts


def _set_subreaper(is_subreaper: bool) -> bool:
    """Let orphans of this process's children come to it, or no more; return how it was (prctl(2))."""
    import ctypes

    set_child_subreaper, get_child_subreaper = 36, 37
    prctl = ctypes.CDLL(None).prctl
    before = ctypes.c_int()
    prctl(get_child_subreaper, ctypes.byref(before), 0, 0, 0)
    prctl(set_child_subreaper, int(is_subreaper), 0, 0, 0)
    return bool(before.value)
