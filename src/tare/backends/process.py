"""Backend `process`: jobs are processes of this machine, or of hosts that an agent reaches."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from tare.backends import marks
from tare.backends.openssh import explain
from tare.backends.reach import Reach
from tare.backends.remote import remote_command, unframe
from tare.backends.staged import Staged, on_record
from tare.errors import BackendError
from tare.model.backend import Exit, Job

_GRACE_S = 2.0  # between SIGTERM, on which an MPI launcher takes its remote ranks down, and SIGKILL
_SIGNAL_BASE, _LAST_SIGNAL = 128, 64  # as a shell tells of a signal (dash(1))
_HOST_LACKS = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class ProcessBackend:
    """Runs jobs, from one thread or several, and leaves nothing behind: not on time-out, not when killed.

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
        self._env = {**os.environ, **(env or {})}
        self._hosts = list(hosts) if agent else []
        self._agent = tuple(agent)
        self._reach = Reach(agent, self._env)
        self._guard: subprocess.Popen[bytes] | None = None
        self._children = f"/proc/self/task/{threading.get_native_id()}/children"
        self._kin: set[int] = set()
        self._adopted: set[int] = set()
        self._was_subreaper = False

    def __enter__(self) -> ProcessBackend:
        self._was_subreaper = _set_subreaper(True)
        command = [sys.executable, "-I", "-S", marks.__file__, self._label, str(self._reach.folder or "")]
        if self._hosts:
            command += [*self._reach.words, "--", *self._hosts]
        self._guard = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._env,
            start_new_session=True,
        )
        self._kin = self._read_children()
        self._adopted = set()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None
        left = self._orphans() if self._reach.folder else set()
        self._reach.close()
        self._reap(self._adopted | left)
        _set_subreaper(self._was_subreaper)

    def adopt(self) -> None:
        """Take the processes that have come to this one by now for no leftovers of its jobs."""
        self._kin |= self._read_children()

    def keep(self, pid: int) -> None:
        """Take a child of this process, which runs beside the jobs, for no leftover of theirs."""
        self._kin.add(pid)

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the agent as this backend calls it for small commands: with ssh, over shared connections."""
        return self._reach.words

    def run(self, job: Job) -> Exit:
        """Run `job` to its end or time-out (see model.Backend.run)."""
        if job.host is None:
            return self._run(job, job.invocation.argv)
        command, log = self._reach.job(job.host, remote_command(job))
        if job.place is None:
            return self._conclude(job, self._run(job, command), log)
        hosts = job.hosts or (job.host,)
        transfer = self._reach.transfer(hosts, job.place)
        staged = Staged(label=job.label, agent=self._agent, hosts=hosts, place=str(job.place))
        with on_record(staged, transfer.remove):
            try:
                transfer.send(job.folder)
                ended = self._conclude(job, self._run(job, command), log)
                if ended.fault is None:
                    transfer.fetch(job.folder)
            except BackendError as error:
                return Exit(fault=str(error))
        return ended

    def _run(self, job: Job, argv: Sequence[str]) -> Exit:
        """Run `argv` here for `job`, and let nothing of the job outlive it."""
        started = time.monotonic()
        try:
            process = self._start(job, argv)
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
        return Exit(
            code=code if code >= 0 and not is_timeout else None,  # which would be a launcher's own
            signal=-code if code < 0 else None,
            is_timeout=is_timeout,
            elapsed_s=elapsed_s,
        )

    def _conclude(self, job: Job, agent: Exit, log: Path | None) -> Exit:
        """Return how `job` ended on its host, from how the agent did and what the job's outputs tell."""
        frame = unframe(job.folder / job.stdout, job.folder / job.stderr)
        said = _read(log)
        if log is not None:
            log.unlink(missing_ok=True)
        if agent.is_timeout or agent.fault is not None:
            return msgspec.structs.replace(agent, code=None)  # which is the agent's own
        if frame.code is not None:
            signal_number = frame.code - _SIGNAL_BASE
            is_signal = 0 < signal_number <= _LAST_SIGNAL
            return msgspec.structs.replace(
                agent,
                code=None if is_signal else frame.code,
                signal=signal_number if is_signal else None,
            )
        if not frame.has_folder:
            return Exit(
                fault=f"host {job.host} has no folder {job.place or job.folder}; let the nodes share it, or "
                "give the site 'staging: /path/on/nodes'"
            )
        if agent.signal is not None and log is None:
            return agent  # the job has killed all its process group, and the agent with it
        said = said or _read(job.folder / job.stderr)
        what = "was lost while the job ran" if frame.has_begun else "could not be reached"
        return msgspec.structs.replace(agent, fault=f"host {job.host} {what}: {explain(str(job.host), said)}")

    def read(self, hosts: Sequence[str | None], paths: Sequence[str]) -> Mapping[str | None, dict[str, str]]:
        """Return the text of small files of each host (see model.Backend.read)."""
        found: dict[str | None, dict[str, str]] = {None: _read_here(paths)} if None in hosts else {}
        found.update(self._reach.read([host for host in hosts if host is not None], paths))
        return found

    def ask(self, hosts: Sequence[str | None], script: str) -> Mapping[str | None, str]:
        """Return what a shell script prints on each host, all at the same time (see model.Backend.ask)."""
        found: dict[str | None, str] = {}
        if None in hosts:
            here = subprocess.run(
                ["/bin/sh", "-c", script],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._env,
                check=False,
            )
            found[None] = here.stdout.decode(errors="replace")
        found.update(self._reach.run({host: script for host in hosts if host is not None}))
        return found

    def clean(self, label_prefix: str) -> int:
        """End every process so marked, here and on the hosts (see model.Backend.clean)."""
        count = marks.end_marked(label_prefix)
        self._reach.end(self._hosts, label_prefix)
        return count

    def _start(self, job: Job, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        cwd = job.folder
        with (cwd / job.stdout).open("wb") as out, (cwd / job.stderr).open("wb") as err:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env={**self._env, **job.invocation.env, marks.VARIABLE: job.label},
                start_new_session=True,
            )
        _favour(process.pid)
        return process

    def _end(self, process: subprocess.Popen[bytes], job: Job) -> None:
        """Ask the job's processes to end, then kill everything that carries its label."""
        if job.host is not None and not self._reach.forwards_signals:
            self._reach.end([job.host], job.label, "TERM")
            _wait(process, _GRACE_S)
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
        if is_abnormal or self._orphans():
            marks.end_marked(job.label)
            self._reap_orphans()

    def _reap_orphans(self) -> None:
        """Take leave of the dead: a PID namespace, such as the lab's, does not end before its zombies do.

        What lives is of another job that runs meanwhile, or none of a job, and is left alone.
        """
        deadline = time.monotonic() + _GRACE_S
        while (orphans := self._orphans()) and time.monotonic() < deadline:
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if all(marks.is_marked(pid) for pid in self._orphans()):
                return
            time.sleep(0.005)

    def _reap(self, pids: set[int]) -> None:
        """Take leave of ssh's shared connections, which end soon after they are told to, and their kin."""
        deadline = time.monotonic() + _GRACE_S
        while (left := pids & self._read_children()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.005)

    def _orphans(self) -> set[int]:
        """Return the children that came from jobs. Others, such as ssh's shared connections, are kin."""
        found = self._read_children() - self._kin
        kin = {pid for pid in found if marks.is_marked(pid) is False}
        self._kin |= kin
        self._adopted |= kin
        return found - kin

    def _read_children(self) -> set[int]:
        with open(self._children, "rb") as file:  # noqa: PTH123  # pathlib doubles its cost in this hot path
            return {int(pid) for pid in file.read().split()}


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


def _read(path: Path | None) -> str:
    return path.read_text(errors="replace") if path is not None and path.exists() else ""


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
