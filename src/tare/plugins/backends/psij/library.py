"""Load PSI/J, an optional dependency, without its effects on the rest of this process."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from tare.core import log
from tare.core.errors import BackendError
from tare.core.log import fields
from tare.plugins.backends.psij.corrections import correct
from tare.plugins.backends.psij.systems import Executor

if TYPE_CHECKING:
    from pathlib import Path

    import psij

INSTALL = "pip install 'tare-hpc[psij]'"
"""How PSI/J comes into the environment of Tare."""


_TIMEOUT_S = 60.0
_CHANGES = {"sbatch", "scancel", "qsub", "qdel", "bsub", "bkill"}
_LOG = log.of("psij")


class Reach(NamedTuple):
    """Where the commands of a batch system are called: behind `way`, such as ``ssh login1``, or here.

    `env` is the environment of `way`, and of the commands where it is empty.
    """

    way: tuple[str, ...] = ()
    env: Mapping[str, str] = os.environ

    @classmethod
    def of(cls, agent: Sequence[str], login: str | None, env: Mapping[str, str]) -> Reach:
        """Return the reach over `agent` to the host `login`, None for this one; `env` adds to our own."""
        return cls((*agent, login) if login else (), {**os.environ, **env})

    def run(self, command: list[str]) -> str:
        """Run a command and return what it prints, as PSI/J does, but for no longer than it may take.

        One that hangs would hold PSI/J's only polling thread for good. It has no part in a terminal's Ctrl-C:
        a submission that is cut off may have been taken. Raises CalledProcessError, as PSI/J expects.
        """
        began = time.monotonic()
        try:
            done = subprocess.run(
                [*self.way, shlex.join(command)] if self.way else command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                text=True,
                timeout=_TIMEOUT_S,
                env=dict(self.env),
                cwd="/",
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            said = f"{command[0]} did not answer within {_TIMEOUT_S:g} s"
            raise subprocess.CalledProcessError(1, command, output=said) from error
        level = logging.INFO if _CHANGES & {*command} else logging.DEBUG
        ms = round((time.monotonic() - began) * 1e3)
        told_of = fields(way=self.way, argv=command, exit_code=done.returncode, ms=ms)
        _LOG.log(level, "command", extra=told_of)
        if done.returncode != 0:
            told = "\n".join(text for text in (done.stdout, done.stderr) if text)
            said = told or f"exit code {done.returncode}"
            raise subprocess.CalledProcessError(done.returncode, command, output=said)
        return done.stdout


_HERE = Reach()


def is_installed() -> bool:
    """Return whether PSI/J can be imported here."""
    return importlib.util.find_spec("psij") is not None


def version() -> str:
    """Return the version of PSI/J that is installed."""
    return metadata.version("psij-python")


def load() -> ModuleType:
    """Import PSI/J. Raises BackendError with how to install it, where it is not installed.

    Its import takes over SIGCHLD, to hear of ended children sooner than it polls for them. Signals belong to
    the program, so the handler is put back. What PSI/J logs is for those who ask for a log.
    """
    if not is_installed():
        raise BackendError(f"the backend 'psij' needs PSI/J, which is not installed here; run: {INSTALL}")
    logging.getLogger("psij").addHandler(logging.NullHandler())
    if threading.current_thread() is not threading.main_thread():
        return importlib.import_module("psij")
    before = signal.getsignal(signal.SIGCHLD)
    try:
        return importlib.import_module("psij")
    finally:
        signal.signal(signal.SIGCHLD, before)


def executor(name: Executor, work: Path, reach: Reach = _HERE, *, poll_s: float = 30.0) -> psij.JobExecutor:
    """Return PSI/J's executor of this name, which keeps its scripts and files below the folder `work`.

    It calls the batch system's commands by `reach`, and asks of all jobs at once every `poll_s` seconds, in a
    thread of its own.
    Raises BackendError where PSI/J is missing, or cannot load this executor: Flux needs Python bindings.
    """
    load()
    import psij
    from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutorConfig

    config = BatchSchedulerExecutorConfig(work_directory=work, initial_queue_polling_delay=0)
    config.queue_polling_interval = poll_s  # type: ignore[assignment]  # time.sleep(3) takes fractions
    try:
        found = psij.JobExecutor.get_instance(name.value, config=config)
    except (ValueError, OSError) as error:
        why = f": {error.__cause__}" if error.__cause__ else ""
        raise BackendError(f"PSI/J: {error}{why}") from error
    correct(found, name, reach.run)
    return found


def stop(executor: psij.JobExecutor) -> None:
    """End the thread of `executor` that asks its batch system, which PSI/J leaves to the last reference."""
    thread = getattr(executor, "_queue_poll_thread", None)  # its local executor and that of Flux have none
    if thread is not None:
        thread.done = True
