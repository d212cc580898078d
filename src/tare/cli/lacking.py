"""Tell what the machine, or this process by its limits, has too little of: memory, processes, open files."""

from __future__ import annotations

import errno
import mmap
import os
import resource
import traceback
from pathlib import Path

import tare
from tare.core.errors import InfrastructureError

_MIB = 2**20
_LOADED_MIB = {
    **dict.fromkeys(("calibrate", "check", "compare", "curves", "metrics", "predict", "published"), 320),
    **dict.fromkeys(("run", "scaling", "serve", "tolerance", "why"), 320),
    "report": 544,
    "export": 1056,
}
"""The address space that numpy and SciPy, the charts of a report and polars take to load on two cores, by the
commands that load them, with some to spare."""

_THREAD_BYTES, _MOST_THREADS = 16 * _MIB, 64
"""What each further core adds: the stacks of two threads, of numpy's and SciPy's OpenBLAS, up to 64 cores."""

_SCARCE_BYTES = 1024 * _MIB
"""Under a limit below this, an error in a library is probably one of memory."""

_NO_PROCESS = "no more processes or threads can be started; end some, or raise the limit (ulimit -u)"
_LACKING = {
    errno.EAGAIN: _NO_PROCESS,  # of fork(2); output that would block is OutputLost
    errno.EMFILE: "this process may open no more files; raise its limit (ulimit -n)",
    errno.ENFILE: "this machine can open no more files; close some, or raise fs.file-max (sysctl)",
    errno.ENOMEM: "there is no memory left for it; free some, or raise its limit (ulimit -v, or of its job)",
}


def lacking(error: BaseException) -> str:
    """Return what there was too little of when `error` was raised; empty for other errors."""
    if isinstance(error, MemoryError) or _is_unmapped(error):
        return _LACKING[errno.ENOMEM]
    if str(error) == "can't start new thread":  # a RuntimeError of threading
        return _NO_PROCESS
    if isinstance(error, OSError):
        return _LACKING.get(error.errno or 0, "")
    limit = _limit()
    if limit is not None and limit < _SCARCE_BYTES and not _is_of_tare(error):  # polars ends in a NameError
        name = type(error).__name__
        return f"a library ended with {name}, probably for lack of memory: {_allowed(limit)}; raise the limit"
    return ""


def require_memory(command: str) -> None:
    """Raise InfrastructureError if a limit leaves too little memory for the libraries that `command` loads.

    Without memory these libraries do not raise errors: OpenBLAS ends the process, or interrupts it, and the
    threads of polars wait forever.
    """
    limit = _limit()
    if limit is None or command not in _LOADED_MIB:
        return
    n_threads = min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    needed = _LOADED_MIB[command] * _MIB + max(n_threads - 2, 0) * _THREAD_BYTES
    try:
        mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except (OSError, MemoryError) as error:
        raise InfrastructureError(
            f"too little memory for the libraries of 'tare {command}': {_allowed(limit)}, and they may take "
            f"{needed // _MIB} MiB more; raise the limit"
        ) from error


def _is_unmapped(error: BaseException | None) -> bool:
    """Return whether `error` or its cause is that a library found no memory to be loaded (dlopen(3))."""
    while error is not None:
        if isinstance(error, ImportError) and "failed to map segment" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_of_tare(error: BaseException) -> bool:
    """Return whether `error` was raised by Tare's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    return not frames or frames[-1].filename.startswith(str(Path(tare.__file__).parent))


def _limit() -> int | None:
    """Return how many bytes of address space this process may have; None without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _allowed(limit: int) -> str:
    return f"this process may have {limit // _MIB} MiB (ulimit -v)"
