"""Build the command of a job on another host, and separate the job's end from the agent's.

An agent such as ssh(1) uses one exit code for the job and for itself, turns a signal into 255, and passes on
what the login shell prints before the job. So the job's outputs are framed. Both get a begin marker when the
job begins. Standard error also gets an end marker with the job's exit code. Text outside the frame does not
belong to the job.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from tare.core.job import Job
from tare.plugins.backends.hosts.login_shell import for_login_shell
from tare.plugins.backends.ownership import process_labels

_BEGIN, _END = re.compile(rb"\x1etare begins(?: ([0-9]{1,9}\.[0-9]{2}))?\x1e"), b"\x1etare ends "
_NO_FOLDER = b"nowhere"
_NOISE_BYTES = 1 << 20  # more than any login script prints
_TAIL_BYTES = 64 << 10
_SCRIPT = (
    "read -r up _ </proc/uptime; "
    "printf '\\036tare begins\\036' && printf '\\036tare begins %s\\036' \"$up\" >&2 || exit 1; "
    'if cd -- "$1" 2>/dev/null; then shift; trap : TERM INT HUP; "$@"; code=$?; else code=nowhere; fi; '
    "printf '\\036tare ends %s\\036' \"$code\" >&2; "
    '[ "$code" != nowhere ] && exit "$code"; exit 1'
)
"""The script starts nothing when its outputs are closed already.

The traps let an MPI launcher end its ranks on SIGTERM before this shell ends.
"""


class RemoteJob(NamedTuple):
    """What the frame in a job's outputs shows: whether the job began, and its exit code if it ended.

    `began_up_s` is when it began, in seconds since the start of its host (proc(5), uptime).
    """

    has_begun: bool
    code: int | None = None
    has_folder: bool = True
    began_up_s: float | None = None


def remote_command(job: Job) -> str:
    """Return the job as one shell command.

    An agent joins its words and passes them to a shell, as ssh does.
    """
    program = [
        "env",
        *(f"{name}={value}" for name, value in job.invocation.env.items()),
        *job.invocation.argv,
    ]
    folder = str(job.staging_folder or job.folder)
    labelled = ["env", f"{process_labels.VARIABLE}={job.label}"]
    command = for_login_shell(["sh", "-c", _SCRIPT, "tare", folder, *program])
    return f"exec {shlex.join(labelled)} {command}"


def unframe(stdout: Path, stderr: Path) -> RemoteJob:
    """Remove the frame from both files, so that they hold only the job's output.

    Return what the frame shows.
    """
    end = _cut_end(stderr)
    begun = [_cut_beginning(path) for path in (stdout, stderr)]
    up_s = _up_s(begun[1])
    if end is None:
        return RemoteJob(any(begun), began_up_s=up_s)
    return RemoteJob(True, None, False) if end == _NO_FOLDER else RemoteJob(True, int(end), began_up_s=up_s)


def has_ended(stderr: Path) -> bool:
    """Return whether standard error has the end marker, although the outputs may still be open."""
    try:
        with stderr.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
            return _END in file.read()
    except OSError:
        return False


def began_up_s(stderr: Path) -> float | None:
    """Return when the job began, by its host's uptime, from its standard error.

    Return None if it is not there.
    """
    with contextlib.suppress(OSError), stderr.open("rb") as file:
        return _up_s(_BEGIN.search(file.read(_NOISE_BYTES)))
    return None


def _up_s(begun: re.Match[bytes] | None) -> float | None:
    return float(begun[1]) if begun and begun[1] else None


def _cut_end(path: Path) -> bytes | None:
    """Remove the end marker from the file, and return the text in it.

    The marker is not always last: processes that the job left may still write.
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


def _cut_beginning(path: Path) -> re.Match[bytes] | None:
    """Remove all text before the job's own output. Return the match of the begin marker."""
    with path.open("rb") as file:
        found = _BEGIN.search(file.read(_NOISE_BYTES))
        if found is None:
            return None
        file.seek(found.end())
        rest = path.with_name(f"{path.name}.own")
        with rest.open("wb") as own:
            shutil.copyfileobj(file, own)
    rest.replace(path)
    return found
