"""Run the commands of this machine: the one seam of all finders."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Timer
from typing import Protocol

import msgspec

from tare.core import log
from tare.core.log import fields
from tare.execution.exits import signal_name
from tare.plugins.backends.hosts.output import TooMuchOutput, read_output

_LOG = log.of("discovery")
_TIMEOUT_S = 60.0  # a controller with many jobs may need half a minute
_GRACE_S = 5.0
_PATIENCE_S = 5.0  # after which a user wonders what is waited for
_MOST_SHOWN = 60
_MOST_SAID = 240
_OF_A_JOB = tuple(f"SLURM_{name}" for name in ("JOB", "STEP", "MEM_", "CPU", "NTASKS", "NNODES", "TRES"))
"""How variables of a job of Slurm begin. In one, srun(1) starts a step of that job, and no job of its own."""
_FILTERS = ("SINFO_", "SQUEUE_", "SACCT_")
"""How variables begin that make Slurm's commands leave out partitions and jobs (sinfo(1), squeue(1))."""
TIMED_OUT = 124
"""The exit code of a command that did not end in time, as of timeout(1)."""

Report = Callable[[str], None]
"""Called with what could not be found out, and why."""


class Output(msgspec.Struct, frozen=True):
    """What a command printed, and its exit code; 124 if it did not end in time."""

    code: int
    out: str
    err: str = ""

    @property
    def message(self) -> str:
        """Return its error message on one line, of a long one the beginning and the end.

        The end has why Slurm's commands gave up, and the beginning why Grid Engine's did.
        """
        text = " ".join((self.err.strip() or self.out.strip()).split())
        if len(text) > _MOST_SAID:
            text = f"{text[: _MOST_SAID // 2].rstrip()} … {text[-_MOST_SAID // 2 :].lstrip()}"
        if text or self.code > 0:
            return text or f"exit code {self.code}"
        return f"ended by {signal_name(-self.code)}" if self.code else "it prints nothing"


class Commands(Protocol):
    """Runs commands; tests have a double that answers with recorded outputs."""

    def run(self, argv: Sequence[str], timeout_s: float = _TIMEOUT_S) -> Output | None:
        """Return how a command ended; None where there is no such program."""
        ...


class OwnCommands:
    """Runs commands on this machine, without input. An interrupt ends the command, too.

    `say` is called with the wait for a command that has not answered after `patience_s`. Who runs a script
    knows better what it waits for.
    """

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        say: Report = lambda line: None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        known = {
            name: text for name, text in os.environ.items() if not name.startswith((*_OF_A_JOB, *_FILTERS))
        }
        self._env = {**known, **(env or {}), "LC_ALL": "C"}
        self._say, self._patience_s = say, patience_s

    def run(self, argv: Sequence[str], timeout_s: float = _TIMEOUT_S) -> Output | None:
        """Return how a command ended (see Commands)."""
        try:
            process = subprocess.Popen(  # noqa: S603  # argv is Tare's own
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._env,
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            with self._said_if_slow(argv, timeout_s):
                out, err = read_output(process, timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return Output(TIMED_OUT, "", f"{argv[0]} did not answer within {timeout_s:g} s")
        except TooMuchOutput as error:
            _end(process)
            return Output(TIMED_OUT, "", f"{error.strerror}, and did not end")
        except BaseException:
            _end(process)
            raise
        _LOG.debug("command", extra=fields(argv=list(argv), exit_code=process.returncode))
        return Output(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def _said_if_slow(self, argv: Sequence[str], timeout_s: float) -> AbstractContextManager[None]:
        if any("\n" in word for word in argv):
            return nullcontext()
        shown = " ".join(argv)[:_MOST_SHOWN]
        waits = f"waits    {shown} has not answered yet; it is given up after {timeout_s:g} s"
        return said_if_slow(self._say, waits, self._patience_s)


@contextmanager
def said_if_slow(say: Report, line: str, after_s: float = _PATIENCE_S) -> Iterator[None]:
    """Call `say` with a line if what is done within takes longer than `after_s`."""
    timer = Timer(after_s, say, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command: SIGTERM lets srun cancel its job (srun(1)), then SIGKILL ends all that it has started.

    What went into a session of its own may keep the output open; it is not waited for.
    """
    process.terminate()
    with suppress(subprocess.TimeoutExpired, TooMuchOutput):
        read_output(process, _GRACE_S)
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the command began a session, so this is its group
    with suppress(subprocess.TimeoutExpired, TooMuchOutput):
        read_output(process, _GRACE_S)


def text_of(commands: Commands, argv: Sequence[str], report: Report) -> str | None:
    """Return the output of a command; None where it is not there, or fails, which is reported."""
    done = commands.run(argv)
    if done is None:
        return None
    if done.code != 0:
        report(f"{' '.join(argv[:3])}: {done.message}")
        return None
    return done.out
