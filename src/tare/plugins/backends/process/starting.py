"""Start a program on this machine, and know when it began."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tare.core.job import Job
from tare.core.safe_folder import SafeFolder
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.process import priority
from tare.plugins.backends.process.control_groups import ControlGroup

_CLOCK = struct.Struct("d")


class Started(NamedTuple):
    """A process, and when its program began, by time.monotonic()."""

    process: subprocess.Popen[bytes]
    began: float


def start(
    job: Job, argv: Sequence[str], env: Mapping[str, str], group: ControlGroup | None, *, is_boosted: bool
) -> Started:
    """Start `argv` for `job` in `group`. Raises OSError if it cannot be started.

    The child itself reads the clock, last of all before the program: the time to join a group is not part of
    the program's, and on a busy machine a short program has ended before this process goes on.
    """
    clock = mmap.mmap(-1, _CLOCK.size)  # shared with the child

    def prepare() -> None:
        """Make system calls only: the child has copies of locks that threads of this process may hold."""
        if group is not None:
            group.join()
        if is_boosted:
            priority.boost()
        _CLOCK.pack_into(clock, 0, time.monotonic())

    with clock, _output(job.folder, job.stdout) as out, _output(job.folder, job.stderr) as err:
        before = time.monotonic()
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=job.folder,
            env={**env, **job.invocation.env, process_labels.VARIABLE: job.label},
            start_new_session=True,
            preexec_fn=prepare if group is not None or is_boosted else None,
        )
        (began,) = _CLOCK.unpack_from(clock)
        return Started(process, began or before)


def _output(folder: Path, name: str) -> BinaryIO:
    """Return a new file for a job's output.

    It replaces what an earlier job left there, for example a pipe.
    """
    return os.fdopen(SafeFolder(folder, name).create(), "wb")
