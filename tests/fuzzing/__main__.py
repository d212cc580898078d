"""`python -m fuzzing`: try every target for some minutes, and print what each did wrong.

With Atheris, which is guided by coverage (`pip install atheris`); it is made for few platforms, so the tests
do not need it. Without it inputs are changed at random.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzzing.target import Target


_MOST_MEMORY = 4 << 30
"""Bytes that a process that tries may map: what asks for more is a fault, and not the machine's end."""


def main() -> int:
    """Try the targets that the command line names, each in a process of its own; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; all without any")
    parser.add_argument("--minutes", type=float, default=30, help="for each target (default: 30)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        return _try(asked.targets[0], asked.minutes * 60, asked.seed)
    from fuzzing.targets import targets

    print(f"{'target':<22}{'inputs':>10}  faults", flush=True)
    n_faults = 0
    for name in asked.targets or targets():
        words = ["--minutes", str(asked.minutes), "--seed", str(asked.seed), "--here", name]
        ended = subprocess.run(
            [sys.executable, "-m", "fuzzing", *words], capture_output=True, text=True, check=False
        )
        told = [line[2:] for line in ended.stdout.splitlines() if line.startswith("= ")]
        is_whole = bool(told) and told[-1].isdigit()
        count, faults = (told[-1], told[:-1]) if is_whole else ("?", [*told, f"died: {ended.stderr[-300:]}"])
        n_faults += len(faults)
        print(f"{name:<22}{count:>10}  {len(faults) or '-'}", *faults, sep="\n    ", flush=True)
    return 1 if n_faults else 0


def _try(name: str, seconds: float, seed: int) -> int:
    """Try one target, and print how many inputs it had, and each kind of fault with a file that shows it."""
    try:
        import atheris
    except ImportError:
        atheris = None
    if atheris is None:
        from fuzzing import targets, trying
    else:
        with atheris.instrument_imports(include=["tare"]):
            from fuzzing import targets, trying
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    target, found, count = targets.targets()[name], dict[str, Path](), 0
    kept = Path(tempfile.mkdtemp(prefix="tare-fuzz-faults-"))
    ends_at = time.monotonic() + seconds

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        if fault := trying.fault_of(target, data):
            kind = fault.partition(":")[0] + fault.partition(":")[2].partition(":")[0]
            if kind not in found:
                found[kind] = kept / str(len(found))
                found[kind].write_bytes(data)
                print(f"= {fault} [{found[kind]}]", flush=True)
        if time.monotonic() > ends_at:  # libFuzzer knows no other end than that of its process
            print(f"= {count}", flush=True)
            os._exit(1 if found else 0)

    if atheris is not None:
        _guided(atheris, target, one, seed)
    for data in trying.inputs(target, seed):
        one(data)
    return 1


def _guided(atheris: Any, target: Target, one: Callable[[bytes], None], seed: int) -> None:
    """Let libFuzzer keep what takes other ways through the code, and change that by our ways too."""
    from fuzzing.changes import MOST_BYTES, changed

    def mutated(data: bytes, most: int, number: int) -> bytes:
        chance = random.Random(number)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, most))
        return changed(data, chance, target.seeds)[:most]

    with tempfile.TemporaryDirectory(prefix="tare-fuzz-seeds-") as folder:
        for number, data in enumerate(target.seeds):
            Path(folder, str(number)).write_bytes(data)
        words = [sys.argv[0], f"-seed={seed}", "-rss_limit_mb=3000", f"-max_len={MOST_BYTES}", folder]
        atheris.Setup(words, one, custom_mutator=mutated)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
