"""Measure the time that Tare adds to each run, compared with a plain loop of subprocess.run.

Tare creates a folder and five files for each run, and syncs its journal. What the file system takes for that
stands in rows of its own, since it differs: ext4 without a journal looks through all inodes that were deleted
in the last minutes before it gives out one, so after the removal of a large folder a new file takes 200 µs
instead of 12.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.rows import TARE, Row, cpu_and_wall_s, peak_mib

N_RUNS, N_FEW = 1000, 100
_COMMAND = ["sh", "-c", "echo value: 1.0"]
_STUDY = """\
study: echo
workloads:
  echo:
    command: [sh, -c, "echo value: 1.0"]
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
    checks: [{matches: 'value:'}]
factors: {workload: [echo]}
repeats: %d
"""
_BARE = f"import subprocess\nfor _ in range(%d): subprocess.run({_COMMAND!r}, capture_output=True)"
_FILES = """
import os, sys
journal = os.open("journal", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
for run in range(int(sys.argv[1])):
    os.mkdir(f"{run}")
    for name in ("command.json", "stdout", "stderr", "telemetry.jsonl.gz", "SHA256SUMS"):
        file = os.open(f"{run}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(file, b"x" * 100)
        os.close(file)
    os.write(journal, b"x" * 1500)
    os.fdatasync(journal)
"""
"""The files of a run, without Tare."""
_KINDS = {"with telemetry": ((), "under 2 ms", "under 3 ms"), "without": (("--telemetry", "off"), "", "")}


class _Took(NamedTuple):
    """The CPU and the wall-clock time, in milliseconds, of one run, and of all that is no run."""

    run: tuple[float, float]
    rest: tuple[float, float]


def measure() -> Iterator[Row]:
    """Run the same command in a loop and by Tare, in turn, five times; Tare syncs each run to disk.

    What a run takes is the difference between 1,000 and 100 of them: a session begins and ends once.
    """
    loops: list[_Took] = []
    files: list[_Took] = []
    took: dict[str, list[_Took]] = {name: [] for name in _KINDS}
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for turn in range(5):
            loops.append(_took(lambda n: [sys.executable, "-c", _BARE % n]))
            files.append(_took(lambda n: _files(Path(folder, f"files-{turn}-{n}"), n)))  # noqa: B023  # called at once
            for name, (options, _, _) in _KINDS.items():
                out = f"{folder}/{name}-{turn}".replace(" ", "-")
                took[name].append(_took(lambda n: _command(folder, n, out, options)))  # noqa: B023  # called at once
        yield from _rows(took, loops)
        for at, kind in enumerate(("CPU", "wall")):
            bare = statistics.median(one.run[at] for one in files)
            yield Row(
                f"the files of a run and a sync, in a loop without tare, {kind}", f"{bare:.2f} ms", "", ""
            )
        few, many = (_peak(folder, n) for n in (100, 2000))
        yield Row("peak memory, 2,000 runs | 100 runs", f"{many:.0f} MiB", f"{few:.0f} MiB", "flat")


def _took(command: Callable[[int], Sequence[str]]) -> _Took:
    """Return what a run takes, from `command` of so many runs."""
    many, few = (cpu_and_wall_s(command(n)) for n in (N_RUNS, N_FEW))
    run = [1e3 * (more - less) / (N_RUNS - N_FEW) for more, less in zip(many, few, strict=True)]
    rest = [1e3 * less - N_FEW * one for less, one in zip(few, run, strict=True)]
    return _Took((run[0], run[1]), (rest[0], rest[1]))


def _files(folder: Path, n_runs: int) -> list[str]:
    folder.mkdir()
    return ["env", "-C", str(folder), sys.executable, "-c", _FILES, str(n_runs)]


def _command(folder: str, n_runs: int, out: str, options: Sequence[str]) -> list[str]:
    study = Path(folder, f"echo-{n_runs}.yaml")
    study.write_text(_STUDY % n_runs)
    return [TARE, "run", str(study), "--out", f"{out}-{n_runs}", *options]


def _rows(took: Mapping[str, Sequence[_Took]], loops: Sequence[_Took]) -> Iterator[Row]:
    for name, (_, *goals) in _KINDS.items():
        for at, kind in enumerate(("CPU", "wall")):
            pairs = list(zip(took[name], loops, strict=True))
            added = statistics.median(ours.run[at] - bare.run[at] for ours, bare in pairs)
            loop = statistics.median(bare.run[at] for bare in loops)
            rest = statistics.median(ours.rest[at] for ours in took[name])
            what = f"added by tare to each run, {name} | the run in a loop, {kind}"
            yield Row(what, f"{added:.2f} ms", f"{loop:.2f} ms", goals[at])
            yield Row(f"a session without its runs, {name}, {kind}", f"{rest:.0f} ms", "", "")


def _peak(folder: str, n_runs: int) -> float:
    study = Path(folder, f"echo-{n_runs}.yaml")
    study.write_text(_STUDY % n_runs)
    return peak_mib([TARE, "run", str(study), "--out", f"{folder}/peak-{n_runs}"])
