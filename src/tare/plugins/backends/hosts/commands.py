"""Reach the hosts of a site through its agent: run jobs there, and query many hosts at once."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tare.core import log
from tare.core.errors import BackendError
from tare.core.job import Job
from tare.core.log import fields
from tare.plugins.backends.hosts.answers import BEGIN, answer_of
from tare.plugins.backends.hosts.openssh import OpenSsh, is_ssh, wrapper_script
from tare.plugins.backends.hosts.transfer import Transfer
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.stray_processes import SweepResult, sweep_script, swept
from tare.probes.records import print_file, read_records

_LOG = log.of("ssh")

_QUERY_S = 30.0
_SHELL = "/bin/sh"
"""Reads a script from its input. A login shell such as csh would fail at quotes and newlines of scripts."""
_OPTIONS_OF_BASH = frozenset({"SHELLOPTS", "BASHOPTS"})


class HostCommands:
    """The commands that reach hosts. With ssh, connections are shared until `close`.

    Another agent is called unchanged, also a script with the name ssh.
    """

    def __init__(self, agent: Sequence[str], env: Mapping[str, str]) -> None:
        self._is_ssh = is_ssh(agent)
        self._ssh = OpenSsh(agent) if self._is_ssh and wrapper_script(agent[0]) is None else None
        self._queries = self._ssh.for_queries if self._ssh else tuple(agent)
        self._jobs = self._ssh.for_jobs if self._ssh else tuple(agent)
        self._env = dict(env)
        self._numbers = itertools.count()

    @property
    def folder(self) -> Path | None:
        """Return the private folder of ssh's connections. Return None if the agent is not ssh."""
        return self._ssh.folder if self._ssh else None

    @property
    def locks(self) -> tuple[int, ...]:
        """Return the file descriptors that lock that folder. The guard holds them, too."""
        return (self._ssh.lock,) if self._ssh else ()

    @property
    def words(self) -> tuple[str, ...]:
        """Return the agent command for small queries."""
        return self._queries

    @property
    def forwards_signals(self) -> bool:
        """Return whether a signal to the agent ends the job on its host. This is false for ssh."""
        return not self._is_ssh

    def close(self) -> None:
        """Close the connections."""
        if self._ssh is not None:
            self._ssh.close(self._env)

    def job(self, host: str, command: str) -> tuple[list[str], Path | None]:
        """Return the command that runs `command` on `host`, and the file for messages of ssh itself."""
        _LOG.debug("command", extra=fields(host=host, command=command))
        if self._ssh is None:
            return [*self._jobs, host, command], None
        log = self._ssh.folder / f"job.{next(self._numbers)}.log"
        return [*self._jobs, "-E", str(log), host, command], log

    def transfer(self, hosts: Sequence[str], place: Path) -> Transfer:
        """Return a Transfer, which copies working folders to these hosts and back."""
        return Transfer(self._queries, hosts, place, self._env)

    def run(
        self,
        scripts: Mapping[str, str],
        *,
        is_lenient: bool = False,
        timeout_s: float = _QUERY_S,
        silence_s: float | None = None,
    ) -> dict[str, str]:
        """Run a script of sh on each host, whatever the login shell there is; return their outputs.

        All run at once. Text that a login script prints before is removed. Hosts that do not answer are left
        out if `is_lenient`; otherwise this raises BackendError. With `silence_s`, a host is given up earlier
        than after `timeout_s`: if it prints nothing for that long, or if its login takes _QUERY_S.
        """
        login_s = None if silence_s is None else _QUERY_S
        running = {
            host: self._start(host, f"echo {BEGIN}; {script}", subprocess.PIPE)
            for host, script in scripts.items()
        }
        outputs: dict[str, str] = {}
        try:
            for host, process in running.items():
                with contextlib.suppress(*((BackendError,) if is_lenient else ())):
                    outputs[host] = answer_of(
                        host, process, timeout_s=timeout_s, silence_s=silence_s, login_s=login_s
                    )
        finally:
            for process in running.values():
                process.kill()
                for stream in filter(None, (process.stdout, process.stderr)):
                    stream.close()  # what an agent has started may keep it open
                process.wait()
        return outputs

    def read(self, hosts: Sequence[str], paths: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the text of small files by host and path (see core.job.Backend.read)."""
        script = "".join(map(print_file, paths))
        outputs = self.run(dict.fromkeys(hosts, script))
        return {host: read_records(text) for host, text in outputs.items()}

    def labels(self, hosts: Sequence[str], campaign: str) -> set[str]:
        """Return the labels of a campaign's processes on `hosts`. Hosts that do not answer are left out."""
        script = process_labels.remote_list_script(campaign)
        outputs = self.run(dict.fromkeys(hosts, script), is_lenient=True)
        return set().union(*map(process_labels.labels_in, outputs.values()))

    def sweep(self, job: Job, began: float, began_up_s: float | None = None, spared: str = "") -> SweepResult:
        """End the processes that `job`, which is over, left on its hosts (see stray_processes).

        The job began at `began` by this machine's clock (time.monotonic), and at `began_up_s` by the uptime
        of its host.
        """
        folder, since_s = str(job.staging_folder or job.folder), time.monotonic() - began
        scripts = {
            host: sweep_script(job.label, folder, since_s, began_up_s if host == job.host else None, spared)
            for host in job.hosts or (str(job.host),)
        }
        return swept(self.run(scripts, is_lenient=True))

    def end(self, hosts: Sequence[str], scope: str, signal: str = "KILL") -> None:
        """Signal every process within `scope` on `hosts`.

        A host that does not answer cannot be cleaned from here.
        """
        script = process_labels.remote_end_script(scope, signal)
        cleaners = [self._start(host, script, subprocess.DEVNULL) for host in hosts]
        for cleaner in cleaners:
            try:
                cleaner.wait(timeout=_QUERY_S)
            except subprocess.TimeoutExpired:
                cleaner.kill()
                cleaner.wait()

    def _start(self, host: str, script: str, output: int) -> subprocess.Popen[bytes]:
        """Start a script of sh on a host. Raises BackendError when the agent cannot be started.

        The shell reads a group of commands to its end before it runs the first: none reads the script.
        """
        argv = [*self._queries, host, _SHELL]
        _LOG.debug("query", extra=fields(host=host, script=script))
        try:
            with os.fdopen(os.memfd_create("script"), "w+b") as given:  # no folder is full for it
                given.write(f"{{\n{script}\n}} </dev/null\n".encode(errors="surrogateescape"))
                given.seek(0)
                return subprocess.Popen(argv, stdin=given, stdout=output, stderr=output, env=self._env)
        except OSError as error:
            reason = f"{argv[0]}: {error.strerror}; 'agent' in the site file says how hosts are reached"
            raise BackendError(f"host {host} could not be reached: {reason}") from error


def run_here(script: str, env: Mapping[str, str]) -> str:
    """Return what a shell script prints on this machine.

    Its shell is bash, if that is there: it passes on functions that a login script may have exported, such as
    `module`. dash(1) does not. Options that the user exports for bash, such as errexit, are left out: they
    would end a script early.
    """
    shell = ["/bin/bash", "--posix"] if Path("/bin/bash").exists() else [_SHELL]
    plain = {name: value for name, value in env.items() if name not in _OPTIONS_OF_BASH}
    done = subprocess.run(
        [*shell, "-c", script], stdin=subprocess.DEVNULL, capture_output=True, env=plain, check=False
    )
    return done.stdout.decode(errors="replace")


def read_here(paths: Sequence[str]) -> dict[str, str]:
    """Return the text of small files of this machine by path; a file that cannot be read is left out."""
    texts = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # read twice in every run
                texts[path] = file.read()
        except OSError:
            continue
    return texts
