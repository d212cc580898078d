"""Load PSI/J, an optional dependency, and undo its side effects on this process."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import signal
import subprocess
import threading
from functools import partial
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING

from tare.core import log
from tare.core.errors import BackendError
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.psij.corrections import correct
from tare.plugins.backends.psij.systems import Executor

if TYPE_CHECKING:
    from pathlib import Path

    import psij

INSTALL = "pip install 'tare-hpc[psij]'"
"""The command that installs PSI/J into Tare's environment."""

_LOG = log.of("psij")


def run(reach: Reach, command: list[str]) -> str:
    """Run a command and return its output, as PSI/J does, but with a time-out.

    A command that hangs would block PSI/J's only polling thread for ever. Raises CalledProcessError, as PSI/J
    expects.
    """
    try:
        done = reach.run(command, _LOG)
    except subprocess.TimeoutExpired as error:
        message = f"{command[0]} did not answer within {error.timeout:g} s"
        raise subprocess.CalledProcessError(1, command, output=message) from error
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        texts = (output, done.stderr.decode(errors="replace"))
        message = "\n".join(text for text in texts if text) or f"exit code {done.returncode}"
        raise subprocess.CalledProcessError(done.returncode, command, output=message)
    return output


_HERE = Reach()


def is_installed() -> bool:
    """Return whether PSI/J can be imported."""
    return importlib.util.find_spec("psij") is not None


def version() -> str:
    """Return the version of the installed PSI/J."""
    return metadata.version("psij-python")


def load() -> ModuleType:
    """Import PSI/J. If it is not installed, raise BackendError with the command that installs it.

    The import installs a handler for SIGCHLD, so that PSI/J notices ended children before its next poll.
    Signal handlers belong to the program, so the earlier handler is restored. PSI/J's log messages are shown
    only if a log was asked for.
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

    It calls the batch system's commands through `reach`, and queries all jobs at once every `poll_s` seconds,
    in a thread of its own. Raises BackendError if PSI/J is missing or cannot load this executor: Flux needs
    Python bindings.
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
    correct(found, name, partial(run, reach))
    return found


def stop(executor: psij.JobExecutor) -> None:
    """End the polling thread of `executor`. PSI/J ends it only when the last reference to it is gone."""
    thread = getattr(executor, "_queue_poll_thread", None)  # absent in the local and Flux executors
    if thread is not None:
        thread.done = True
