"""Backend `process`: jobs are processes of this machine, or of hosts that an agent such as ssh reaches."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType

import msgspec

from tare.core import log
from tare.core.errors import STORAGE_FAULTS, BackendError
from tare.core.interrupts import interrupts_deferred
from tare.core.job import Exit, Job, Ready
from tare.core.log import fields
from tare.core.safe_folder import SafeFolder
from tare.plugins.backends.hosts.commands import HostCommands, read_here, run_here
from tare.plugins.backends.hosts.openssh import explain
from tare.plugins.backends.hosts.staged import Staged, on_record
from tare.plugins.backends.ownership import process_labels, sessions
from tare.plugins.backends.process import control_groups, priority
from tare.plugins.backends.process.control_groups import ControlGroup
from tare.plugins.backends.process.lingering import Lingering
from tare.plugins.backends.process.open_outputs import OpenOutputs
from tare.plugins.backends.process.orphans import Orphans, Survivors, command_of, set_subreaper
from tare.plugins.backends.process.remote import remote_command, unframe
from tare.plugins.backends.process.spawning import Spawner, Start, StartedJob
from tare.plugins.backends.process.waiting import bound_in, cut, wait_within

_LOG = log.of("process")

_GRACE_S = 2.0  # between SIGTERM, on which an MPI launcher ends its remote ranks, and SIGKILL
_SIGNAL_BASE, _LAST_SIGNAL = 128, 64  # how a shell reports a signal (dash(1))
_HOST_LACKS = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, *STORAGE_FAULTS}


class ProcessBackend:
    """Runs jobs from one or several threads. No process of a job remains after a time-out or a kill.

    `agent` is the command that starts another command on a host (see core.site.Site). `env` is added to the
    environment of everything that is started. `label` is the common prefix of the jobs' labels: if this
    process dies, a guard process ends every process whose label has this prefix. With `boosts`, jobs get a
    higher priority than other programs of this machine, if the user may set it (see priority).
    """

    def __init__(
        self,
        *,
        label: str,
        agent: Sequence[str] = (),
        hosts: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        boosts: bool = True,
    ) -> None:
        self._label = label
        self._boosts = boosts
        self._env = {**os.environ, **(env or {})}
        self._hosts = list(hosts) if agent else []
        self._agent = tuple(agent)
        self._reach = HostCommands(agent, self._env)
        self._guard: subprocess.Popen[bytes] | None = None
        self._orphans = Orphans(self._is_connection)
        self._survivors = Survivors()
        self._groups: Path | None = None
        self._spawner = Spawner(self._env, None, self._orphans.keep)
        self._was_subreaper = False

    def __enter__(self) -> ProcessBackend:
        self._was_subreaper = set_subreaper(True)
        command = [
            sys.executable,
            "-I",
            "-S",
            process_labels.__file__,
            self._label,
            str(self._reach.folder or ""),
        ]
        if self._hosts:
            command += [*self._reach.words, "--", *self._hosts]
        self._guard = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._env,
            start_new_session=True,
            pass_fds=self._reach.locks,
        )
        self._groups = control_groups.usable()
        self._orphans.adopt()
        self._spawner = Spawner(self._env, self._groups, self._orphans.keep)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None
        self._spawner.close()
        self._reach.close()
        self._orphans.reap_own(with_new=self._reach.folder is not None)
        set_subreaper(self._was_subreaper)

    def adopt(self) -> None:
        """Treat all current children of this process as its own: they are no leftovers of jobs."""
        self._orphans.adopt()

    def keep(self, pid: int) -> None:
        """Treat the child `pid` as this process's own: it runs beside the jobs and is no leftover of them."""
        self._orphans.keep(pid)

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the agent command for small queries. With ssh, these queries use shared connections."""
        return self._reach.words

    def run(self, job: Job) -> Exit:
        """Run `job` to its end or time-out (see core.job.Backend.run)."""
        _LOG.info("command", extra=fields(host=job.host, argv=job.invocation.argv))
        if job.host is None:
            return self._run(job, job.invocation.argv)
        command, log = self._reach.job(job.host, remote_command(job))
        began = time.monotonic()
        if job.staging_folder is None:
            return self._conclude(job, self._run(job, command), log, began)
        hosts = job.hosts or (job.host,)
        transfer = self._reach.transfer(hosts, job.staging_folder)
        staged = Staged(label=job.label, agent=self._agent, hosts=hosts, place=str(job.staging_folder))
        with on_record(staged, transfer.remove):
            try:
                transfer.send(job.folder)
                began = time.monotonic()
                ended = self._conclude(job, self._run(job, command), log, began)
                if ended.fault is None:
                    transfer.fetch(job.folder)
            except BackendError as error:
                return Exit(fault=str(error))
        return ended

    def _run(self, job: Job, argv: Sequence[str]) -> Exit:
        """Run `argv` on this machine for `job`, and end every process of the job that is left."""
        group = control_groups.make(job.label, self._groups)
        remove = group.remove if group is not None else _nothing
        try:
            ready = job.on_begin(group.path if group else None)
            ended = self._run_in(group, job, argv, ready)
            job.on_end(remove)
        except BaseException:
            remove()
            raise
        return ended

    def _run_in(self, group: ControlGroup | None, job: Job, argv: Sequence[str], ready: Ready) -> Exit:
        try:
            bound = bound_in(job.folder)
            process = self._begin(group, job, argv, ready)
        except OSError as error:
            process_labels.end_labelled(job.label)  # what started it may have ended meanwhile
            if group is not None:
                group.end()
            return _not_started(job, error)
        try:
            ended = self._await_end(process, group, job, bound)
        finally:
            self._orphans.forget(process.pid)
        if ended.excess:
            cut(job.folder, (job.stdout, job.stderr))
        return ended

    def _begin(self, group: ControlGroup | None, job: Job, argv: Sequence[str], ready: Ready) -> StartedJob:
        """Start a job's first process. Raises OSError if it cannot be started."""
        process: StartedJob | None = None
        try:
            with ExitStack() as opened:
                outputs = _output(job.folder, job.stdout, opened), _output(job.folder, job.stderr, opened)
                start = self._start_of(job, argv, outputs, group)
                ready()
                with interrupts_deferred():  # an interrupt during Python's own fork(2) handlers is lost
                    process = self._spawner.start(start)
                    self._orphans.begin(process.pid, job.label, job.folder)
        except BaseException:
            if process is not None:
                self._give_up(process, group, job)
                self._orphans.forget(process.pid)
            raise
        return process

    def _await_end(self, process: StartedJob, group: ControlGroup | None, job: Job, bound: int) -> Exit:
        """Wait for the end of a job, or end it at its time-out; then end what it left."""
        lingering = Lingering(process.has_ended, process.pid, partial(self._members, process, job, group))
        held_up = self._held_up(job, process, lingering, process.began)
        try:
            if job.n_boosted and self._boosts and self._reach.folder is None:
                priority.boost_ranks(job, process.has_ended)
            left_s = job.timeout_s - (time.monotonic() - process.began)
            waited = wait_within(held_up, job.folder, (job.stdout, job.stderr), bound, left_s)
        except BaseException:
            self._give_up(process, group, job)
            raise
        elapsed_s = time.monotonic() - process.began
        is_ended = waited.is_timeout or bool(waited.excess)
        if is_ended:
            lingering.look()
            self._end(process, job)
            elapsed_s = time.monotonic() - process.began
        self._end_group(process)
        code = process.wait()
        survivors = self._end_leftovers(process, job, group, is_abnormal=code != 0)
        return Exit(
            code=code if code >= 0 and not is_ended else None,  # after a kill it is the launcher's code
            signal=-code if code < 0 else None,
            is_timeout=waited.is_timeout,
            elapsed_s=elapsed_s,
            survivors=survivors,
            lingerers=lingering.found + held_up.found,
            excess=waited.excess,
        )

    def _give_up(self, process: StartedJob, group: ControlGroup | None, job: Job) -> None:
        """End all processes of a job whose result nobody waits for."""
        self._end(process, job)
        self._end_leftovers(process, job, group, is_abnormal=False)

    def _members(self, process: StartedJob, job: Job, group: ControlGroup | None) -> set[int]:
        """Return the known processes of the job on this machine."""
        if group is not None:
            return set(group.pids())
        return {*process_labels.labelled_pids(job.label), *self._orphans.of(process.pid)}

    def _held_up(
        self, job: Job, process: StartedJob, wait: Callable[[float], bool], began: float
    ) -> OpenOutputs:
        """Return a wait for the end of `process`.

        It also ends processes that delay this end after the job's end.
        """
        is_over_ssh = job.host is not None and not self._reach.forwards_signals
        return OpenOutputs(
            wait,
            job.folder / job.stderr if is_over_ssh else None,
            sweep=partial(self._reach.sweep, job, began, spared="ssh"),  # our own ssh may run there, too
            give_up=partial(self._end_group, process),
        )

    def _conclude(self, job: Job, agent: Exit, log: Path | None, began: float) -> Exit:
        """Return how `job` ended on its host, from the agent's exit and the frame in the job's outputs."""
        frame = unframe(job.folder / job.stdout, job.folder / job.stderr)
        message = _read(log)
        if log is not None:
            log.unlink(missing_ok=True)
        if frame.has_begun and not self._reach.forwards_signals:
            left = self._reach.sweep(job, began, frame.began_up_s).left
            agent = msgspec.structs.replace(agent, survivors=(*agent.survivors, *left))
        if agent.is_timeout or agent.excess or agent.fault is not None:
            return msgspec.structs.replace(agent, code=None)  # the code is the agent's own
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
                fault=f"host {job.host} has no folder {job.staging_folder or job.folder}; let nodes share "
                "it, or give the site 'staging: /path/on/nodes'"
            )
        if agent.signal is not None and log is None:
            return agent  # the job killed its process group, which includes the agent
        message = message or _read(job.folder / job.stderr)
        what = "was lost while the job ran" if frame.has_begun else "could not be reached"
        return msgspec.structs.replace(
            agent, fault=f"host {job.host} {what}: {explain(str(job.host), message)}"
        )

    def read(self, hosts: Sequence[str | None], paths: Sequence[str]) -> Mapping[str | None, dict[str, str]]:
        """Return the text of small files of each host (see core.job.Backend.read)."""
        found: dict[str | None, dict[str, str]] = {None: read_here(paths)} if None in hosts else {}
        found.update(self._reach.read([host for host in hosts if host is not None], paths))
        return found

    def ask(self, hosts: Sequence[str | None], script: str) -> Mapping[str | None, str]:
        """Return what a shell script prints on each host, all at the same time (see core.job.Backend.ask)."""
        found: dict[str | None, str] = {}
        if None in hosts:
            found[None] = run_here(script, self._env)
        found.update(self._reach.run({host: script for host in hosts if host is not None}))
        return found

    def clean(self, scope: str) -> int:
        """End every process within `scope`, here and on the hosts (see core.job.Backend.clean)."""
        count = process_labels.end_labelled(scope)
        self._reach.end(self._hosts, scope)
        return count

    def end_earlier(self, campaign: str) -> None:
        """End what earlier sessions of this campaign left. Only this process may run the campaign now.

        Sessions of other hosts and users are not touched: they may belong to another campaign at the same
        path.
        """
        labels = {one.label for one in process_labels.labelled_processes()} | self._reach.labels(
            self._hosts, campaign
        )
        for label in labels:
            parsed = sessions.parse(label)
            if parsed is not None and sessions.is_gone(label, campaign):
                self.clean(str(parsed.session))

    def _start_of(
        self, job: Job, argv: Sequence[str], outputs: tuple[int, int], group: ControlGroup | None
    ) -> Start:
        is_boosted = self._boosts and self._reach.folder is None  # with ssh, only ssh itself would be boosted
        return Start(
            argv=argv,
            cwd=job.folder,
            env={**job.invocation.env, process_labels.VARIABLE: job.label},
            outputs=outputs,
            group=group,
            nice=priority.BOOST if is_boosted else None,
        )

    def _end(self, process: StartedJob, job: Job) -> None:
        """Send SIGTERM to the job's processes, then kill every process that carries its label."""
        if job.host is not None and not self._reach.forwards_signals:
            self._reach.end([job.host], job.label, "TERM")
            process.has_ended(_GRACE_S)
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            if process.has_ended(_GRACE_S):
                break
        self.clean(job.label)
        process.wait()

    def _end_group(self, process: StartedJob) -> None:
        """Kill what is left of a job's process group.

        Its leader is not reaped yet, so the id is still the job's.
        """
        if process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)

    def _end_leftovers(
        self, process: StartedJob, job: Job, group: ControlGroup | None, *, is_abnormal: bool
    ) -> tuple[str, ...]:
        """End the processes that outlive their job. Return those that do not end, also those of earlier jobs.

        Labelled processes are ended first, because a conmon process needs time to clean up.
        """
        if is_abnormal or self._orphans.of(process.pid) or (group is not None and group.is_populated()):
            process_labels.end_labelled(job.label)
        left = group.end() if group is not None else []
        left += self._orphans.end(process.pid)
        return self._survivors.seen(job.label, left)

    def _is_connection(self, pid: int) -> bool:
        """Return whether `pid` is a shared connection of ssh.

        These become children of this process and stay.
        """
        folder = self._reach.folder
        return folder is not None and str(folder) in command_of(pid)


def _nothing() -> None:
    pass


def _not_started(job: Job, error: OSError) -> Exit:
    reason = f"{error.filename or job.invocation.argv[0]}: {error.strerror}"
    if error.errno in _HOST_LACKS:
        return Exit(fault=f"could not start a process: {reason}")
    code = 127 if error.errno == errno.ENOENT else 126  # as a shell reports them
    SafeFolder(job.folder, job.stderr).replace(f"{reason}\n".encode(), is_synced=False)
    return Exit(code=code)


def _output(folder: Path, name: str, opened: ExitStack) -> int:
    """Return the descriptor of a new file for a job's output, which `opened` closes.

    It replaces what an earlier job left there, for example a pipe.
    """
    descriptor = SafeFolder(folder, name).create()
    opened.callback(os.close, descriptor)
    return descriptor


def _read(path: Path | None) -> str:
    return path.read_text(errors="replace") if path is not None and path.exists() else ""
