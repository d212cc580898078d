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
from tare.plugins.backends.hosts.openssh import OpenSsh, explain, is_ssh, wrapper_script
from tare.plugins.backends.hosts.transfer import Transfer
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.stray_processes import SweepResult, sweep_script, swept
from tare.probes.records import print_file, read_records

_LOG = log.of("ssh")

_QUERY_S = 30.0
_BEGIN = "tare-begins"
_SHELL = "/bin/sh"
"""Reads a script from its input. A login shell such as csh would fail at quotes and newlines of scripts."""
_UNREACHABLE = 255  # ssh(1): "exits with 255 if an error occurred"


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
        self, scripts: Mapping[str, str], *, is_lenient: bool = False, timeout_s: float = _QUERY_S
    ) -> dict[str, str]:
        """Run a script of sh on each host, whatever the login shell there is; return their outputs.

        All run at once. Text that a login script prints before is removed. Hosts that do not answer are left
        out if `is_lenient`; otherwise this raises BackendError.
        """
        running = {
            host: self._start(host, f"echo {_BEGIN}; {script}", subprocess.PIPE)
            for host, script in scripts.items()
        }
        outputs: dict[str, str] = {}
        try:
            for host, process in running.items():
                with contextlib.suppress(*((BackendError,) if is_lenient else ())):
                    outputs[host] = _output_of(host, process, timeout_s)
        finally:
            for process in running.values():
                process.kill()
                process.communicate()
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


def _output_of(host: str, process: subprocess.Popen[bytes], timeout_s: float) -> str:
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise BackendError(f"host {host} did not answer within {timeout_s:g} s") from error
    if process.returncode == _UNREACHABLE:
        raise BackendError(f"host {host} could not be reached: {explain(host, err.decode(errors='replace'))}")
    return out.decode(errors="replace").partition(f"{_BEGIN}\n")[2]


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
