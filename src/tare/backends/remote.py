"""A job on another host: what the agent is given to run, and how the job's end is told from the agent's.

An agent such as ssh(1) has one exit code for the job and for itself, turns a signal into 255, and hands over
what the login shell prints before the job begins. So the job is framed: a mark on both outputs when it
begins, and one with its exit code at the end of its error output. What is not in the frame is not the job's.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from tare.backends import marks
from tare.model.backend import Job

_BEGIN, _END = b"\x1etare begins\x1e", b"\x1etare ends "
_NO_FOLDER = b"nowhere"
_NOISE_BYTES = 1 << 20  # more than any login script prints
_SCRIPT = (
    "printf '\\036tare begins\\036' && printf '\\036tare begins\\036' >&2 || exit 1; "
    'if cd -- "$1" 2>/dev/null; then shift; trap : TERM INT HUP; "$@"; code=$?; else code=nowhere; fi; '
    "printf '\\036tare ends %s\\036' \"$code\" >&2; "
    '[ "$code" != nowhere ] && exit "$code"; exit 1'
)
"""Nothing starts that nobody listens to any more. The traps let an MPI launcher take its ranks down on
SIGTERM before this shell ends."""


class Frame(NamedTuple):
    """What the outputs of a job tell: whether it began, and its exit code where it came to its end."""

    has_begun: bool
    code: int | None = None
    has_folder: bool = True


def remote_command(job: Job) -> str:
    """Return one shell command, since an agent joins its words and gives them to a shell as ssh does."""
    program = [
        "env",
        *(f"{name}={value}" for name, value in job.invocation.env.items()),
        *job.invocation.argv,
    ]
    folder = str(job.place or job.folder)
    marked = ["env", f"{marks.VARIABLE}={job.label}"]
    return f"exec {shlex.join([*marked, 'sh', '-c', _SCRIPT, 'tare', folder, *program])}"


def unframe(stdout: Path, stderr: Path) -> Frame:
    """Return what the frame tells, and leave the job's own output in the files."""
    end = _cut_end(stderr)
    has_begun = [_cut_beginning(path) for path in (stdout, stderr)]
    if end is None:
        return Frame(any(has_begun))
    return Frame(True, None, False) if end == _NO_FOLDER else Frame(True, int(end))


def _cut_end(path: Path) -> bytes | None:
    """Cut the end of the frame out of the file, and return what it tells.

    It need not come last: what the job left behind may still write.
    """
    with path.open("r+b") as file:
        start = max(file.seek(0, os.SEEK_END) - _NOISE_BYTES, 0)
        file.seek(start)
        tail = file.read()
        at = tail.rfind(_END)
        close = tail.find(b"\x1e", at + len(_END)) if at >= 0 else -1
        if close < 0:
            return None
        file.seek(start + at)
        file.write(tail[close + 1 :])
        file.truncate()
        return tail[at + len(_END) : close]


def _cut_beginning(path: Path) -> bool:
    """Drop what stands before the job's own output; return whether the job began."""
    with path.open("rb") as file:
        at = file.read(_NOISE_BYTES).find(_BEGIN)
        if at < 0:
            return False
        file.seek(at + len(_BEGIN))
        rest = path.with_name(f"{path.name}.own")
        with rest.open("wb") as own:
            shutil.copyfileobj(file, own)
    rest.replace(path)
    return True
