"""Start one long-lived container on each host, check it, and remove it and leftover containers at the end."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType

import msgspec

from tare.core import log
from tare.core.errors import BackendError
from tare.core.launch import CONTAINER_LABEL, Engine, Invocation
from tare.core.log import fields
from tare.core.site import Platform
from tare.plugins.backends.hosts.login_shell import for_login_shell
from tare.plugins.backends.ownership import process_labels

_LOG = log.of("containers")

_TIMEOUT_S = 120.0  # an image may have to be unpacked
_REMOVAL_S = 30.0
_LABEL = re.compile(rf"{re.escape(CONTAINER_LABEL)}[=:]([^],\s]*)")
"""docker prints labels as ``a=1,b=2``; podman prints them as a Go map: ``map[a:1 b:2]``."""


class Host(msgspec.Struct, frozen=True):
    """Where containers run: a host that `agent` reaches, or this machine if `name` is None."""

    name: str | None
    agent: tuple[str, ...]

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs `argv` on this host."""
        return list(argv) if self.name is None else [*self.agent, self.name, for_login_shell(argv)]


def sweep(
    engine: Engine,
    platform: Platform,
    hosts: Iterable[Host],
    env: Mapping[str, str],
    is_dead: Callable[[str], bool],
) -> int:
    """Remove the containers of Tare, running or not, for whose label `is_dead` returns true.

    Returns the number of containers. A host or engine that does not answer counts as one without containers.
    """
    removed: set[str] = set()
    for host in hosts:
        deadline = time.monotonic() + _REMOVAL_S
        # The engine, too, removes containers whose program has ended, but with a delay.
        while time.monotonic() < deadline:
            labels = find_labelled(engine, platform, host, env)
            found = [container for container, label in labels.items() if is_dead(label)]
            if not found:
                break
            _ask(host, engine.remove(platform, found), env)
            removed.update(found)
    return len(removed)


def find_labelled(engine: Engine, platform: Platform, host: Host, env: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of the containers of Tare on `host`, running or not, by container."""
    lines = _ask(host, engine.find(platform), env).splitlines()
    found = {}
    for line in lines:
        container, _, labels = line.partition(" ")
        if match := _LABEL.search(labels):
            found[container] = match[1]
    return found


def digest(engine: Engine, platform: Platform, host: Host, env: Mapping[str, str]) -> str:
    """Return the digest of the platform's image on `host`. Return an empty text if it cannot be read."""
    command = engine.identify(platform)
    return _ask(host, command, env).strip() if command else ""


class ContainerCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A container of `platform` on each host while this is entered.

    Its name is `prefix` plus the host's name. `binds` are further paths that the containers see; `folder` is
    one of them. The containers' processes carry `label`, so that the code which ends labelled processes ends
    them too. The engine removes a container whose process has ended.
    """

    engine: Engine
    platform: Platform
    prefix: str
    hosts: Mapping[str, Host]
    binds: tuple[str, ...]
    label: str
    env: Mapping[str, str]
    folder: str

    def __enter__(self) -> ContainerCluster:
        try:
            self._each({name: self._start(name) for name in self.hosts})
            self._each({name: self._check(name) for name in self.hosts})
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        def is_own(label: str) -> bool:
            return label == self.label

        sweep(self.engine, self.platform, self.hosts.values(), self.env, is_own)

    def _start(self, name: str) -> list[str]:
        started = self.engine.start(self.platform, self.prefix + name, self.binds)
        return ["env", f"{process_labels.VARIABLE}={self.label}", *started.argv]

    def _check(self, name: str) -> list[str]:
        """Return a command that fails, and prints why, in a container that cannot be part of the cluster."""
        tests = [f"cd {shlex.quote(self.folder)}"]
        if self.platform.prefix:
            tests.append(_require("-d", self.platform.prefix, "its MPI"))
        for other, host in self.hosts.items():
            if host.name is not None:
                fault = _fail(f"it knows no host {other}")
                tests.append(f"{{ getent hosts {other} >/dev/null || {fault}; }}")
        program = Invocation(argv=("/bin/sh", "-c", " && ".join(tests)))
        return list(self.engine.enter(program, self.platform, self.prefix + name, self.folder).argv)

    def _each(self, commands: Mapping[str, Sequence[str]]) -> None:
        """Run one command for each host, all at the same time.

        Raises BackendError with the errors of each host.
        """
        running = {name: _start(self.hosts[name], argv, self.env) for name, argv in commands.items()}
        problems = []
        for name, process in running.items():
            _, err = _finish(process)
            if process.returncode != 0:
                message = err.strip().rpartition("\n")[2]
                problems.append(f"{name}: {message or f'exit code {process.returncode}'}")
        if problems:
            raise BackendError(f"{self.engine.name} brings up no containers: {'; '.join(problems)}")


def _require(test: str, path: str, what: str) -> str:
    fault = _fail(f"{what}, {path}, is not in the container; bind it, or take an image with it")
    return f"{{ [ {test} {shlex.quote(path)} ] || {fault}; }}"


def _fail(message: str) -> str:
    return f"{{ echo {shlex.quote(message)} >&2; exit 1; }}"


def _ask(host: Host, argv: Sequence[str], env: Mapping[str, str]) -> str:
    """Return the output of a command on `host`. Return an empty text if the command fails."""
    try:
        process = _start(host, argv, env)
    except OSError:
        return ""
    out, _ = _finish(process)
    return out if process.returncode == 0 else ""


def _start(host: Host, argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    _LOG.debug("command", extra=fields(argv=host.command(argv)))
    return subprocess.Popen(
        host.command(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **env},
    )


def _finish(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Wait for the end of `process`, and kill it after the time-out. Return its standard output and error."""
    try:
        out, err = process.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\nno answer within {_TIMEOUT_S:g} s".encode()
    return out.decode(errors="replace"), err.decode(errors="replace")
