"""The workload of a soak: it sleeps, prints a figure, and writes both into a book of its own.

``program.py BOOK WORK SECONDS`` is stdlib-only. BOOK is a file outside of the campaign: each line is written
at once and never again (O_APPEND), so it tells what really ran, whatever becomes of Tare. WORK is the folder
of the attempt, which ends in CASE/BLOCK.ATTEMPT. A lock tells of a second one of the same run that is alive.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

_FILL = "a line of a program that prints more than its figure\n" * 20


def main() -> int:
    """Do one run; only its first rank writes."""
    book, work, seconds = sys.argv[1:4]
    rank = os.environ.get("PMI_RANK") or os.environ.get("SLURM_PROCID") or "0"
    case, attempt = Path(work).parts[-2:]
    # Numbers that differ in all their digits, so that one that was cut is no other one's.
    chance = random.SystemRandom()
    figure = chance.uniform(1, 2)
    lock = os.open(f"{book}.{case}.{attempt.partition('.')[0]}.{rank}", os.O_RDWR | os.O_CREAT, 0o666)
    told = {"run": f"{case}/{attempt}", "rank": rank, "pid": os.getpid()}
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _write(book, {**told, "what": "twice"})
    if rank != "0":
        time.sleep(float(seconds))
        return 0
    _write(book, {**told, "what": "started"})
    if chance.random() < 0.3 and "SLURM_PROCID" not in os.environ:  # one that would outlive its run
        null = subprocess.DEVNULL  # ssh would wait for what holds its outputs
        subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=null, stderr=null)
    time.sleep(float(seconds) * chance.uniform(0.5, 1.5))
    is_careless = chance.random() < 0.5
    try:
        os.write(1, _FILL.encode())
        os.write(1, f"value: {figure!r} is whole\n".encode())
    except OSError:
        if not is_careless:
            _write(book, {**told, "what": "failed"})
            return 1
    _write(book, {**told, "what": "ended", "figure": figure})
    return 0


def _write(book: str, entry: dict[str, object]) -> None:
    """Add a line to the book, in one piece."""
    descriptor = os.open(book, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(descriptor, f"{json.dumps(entry)}\n".encode())
    os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
