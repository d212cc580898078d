"""Call the commands of a batch system, on this machine or on its login node."""

from __future__ import annotations

import logging
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tare.core import log
from tare.core.errors import BackendError
from tare.core.log import fields
from tare.plugins.backends.batch.queue import Queue
from tare.plugins.backends.hosts.login_shell import for_login_shell
from tare.plugins.backends.hosts.output import TooMuchOutput, read_output
from tare.plugins.backends.hosts.own_storage import remove_from

_TIMEOUT_S = 60.0
_CHANGES = {"sbatch", "scancel", "qsub", "qdel", "bsub", "bkill"}


class Reach(NamedTuple):
    """Where the commands of a batch system are called: through `way`, such as ``ssh login1``, or here.

    `env` is the environment of `way`. Without `way`, it is the environment of the commands.
    """

    way: tuple[str, ...] = ()
    env: Mapping[str, str] = os.environ

    @classmethod
    def of(cls, agent: Sequence[str], login: str | None, env: Mapping[str, str]) -> Reach:
        """Return the reach over `agent` to the host `login`; None is this machine.

        `env` is added to the environment of this process.
        """
        return cls((*agent, login) if login else (), {**os.environ, **env})

    def run(
        self, argv: Sequence[str], logger: logging.Logger, unset: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command without the variables `unset` to its end, whatever its exit code.

        It runs in its own session, so that Ctrl-C in a terminal goes to Tare alone: an interrupted submission
        may already have been accepted. Raises OSError and subprocess.TimeoutExpired.
        """
        began = time.monotonic()
        own = ["env", *(f"--unset={name}" for name in unset), *argv] if unset else argv
        with subprocess.Popen(
            [*self.way, for_login_shell(own)] if self.way else list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: value for name, value in self.env.items() if self.way or name not in unset},
            cwd="/",
            start_new_session=True,
        ) as process:
            try:
                out, err = read_output(process, _TIMEOUT_S)
            except BaseException:
                process.kill()
                raise
        done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        level = logging.INFO if _CHANGES & {*argv} else logging.DEBUG
        ms = round((time.monotonic() - began) * 1e3)
        login = self.way[-1] if self.way else None
        logger.log(level, "command", extra=fields(login=login, argv=argv, exit_code=done.returncode, ms=ms))
        return done


class CommandQueue(Queue):
    """The part of a queue that all batch systems with commands share (see batch.queue.Queue).

    `name` is the backend's name. `agent` and `login` give the host of the commands: ``agent login COMMAND…``,
    as with ssh. Without `login`, they are called on this machine. `env` is added to the environment.
    """

    name: str

    def __init__(self, agent: Sequence[str], login: str | None, env: Mapping[str, str]) -> None:
        self._reach = Reach.of(agent, login, env)
        self._logger = log.of(self.name)

    def remove(self, folder: str) -> bool:
        """Remove a folder that a job left, as the login node sees it. Return whether it is gone.

        Raises BackendError if the node does not answer.
        """

        def ask(hosts: Sequence[str | None], text: str) -> Mapping[str | None, str]:
            return {host: self._call(["sh", "-c", f"{text}; true"]) for host in hosts}

        return remove_from(ask, [None], folder)

    def _call(self, argv: Sequence[str], *, name: str = "", unset: Sequence[str] = ()) -> str:
        """Return the output of a command. Raises BackendError with its message if it fails.

        It does not see the variables `unset` of the user's shell.
        """
        done = self._run(argv, unset)
        if done.returncode != 0:
            raise BackendError(f"{name or argv[0]}: {' '.join(message_of(done).split())}")
        return done.stdout.decode(errors="replace")

    def _run(self, argv: Sequence[str], unset: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
        try:
            return self._reach.run(argv, self._logger, unset)
        except subprocess.TimeoutExpired as error:
            raise BackendError(f"{argv[0]} did not answer within {error.timeout:g} s") from error
        except TooMuchOutput as error:
            raise BackendError(f"{argv[0]}: {error.strerror}, and did not end") from error
        except OSError as error:
            program = self._reach.way[0] if self._reach.way else argv[0]
            raise BackendError(f"{program}: {error.strerror}; is {self.system} installed here?") from error


def message_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the error message of a command that failed. Some commands print it to standard output."""
    texts = (one.decode(errors="replace").strip() for one in (done.stderr, done.stdout))
    return next((text for text in texts if text), f"exit code {done.returncode}")
