"""Measure how much the sampler slows down a program: it is switched on and off while the program runs.

Two runs of a program differ by more than the sampler's cost. So the program is one that prints the same
figure repeatedly. The rows of some seconds with the sampler are compared with those of the seconds before or
after, without it, in the same processes on the same cores.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from rich.console import Console

from bench.rows import Row
from tare.app.executors import lab_env
from tare.app.planning import Loaded, load
from tare.core.job import Exit, Job
from tare.core.safe_folder import SafeFolder
from tare.execution.staging import stage_all
from tare.lab.mpi import is_installed, mpi_folder
from tare.plugins.backends.hosts.samplers import Samplers
from tare.plugins.backends.process.backend import ProcessBackend
from tare.plugins.collectors.sampler import program as sampler_program
from tare.plugins.collectors.sampler import raw_name, read
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios

PERIOD_S = 1.0
SPELL_S = 4.0
"""Seconds for which the sampler stays on or off: some samples, but shorter than other changes usually are."""
GOAL = 0.01
SITE = Path(__file__).parents[1] / "studies/sites/observer.yaml"


class Program(NamedTuple):
    """A program that is sampled: each row of its `output` has a key, such as a size, and a time or a rate."""

    name: str
    platform: str
    command: list[str]
    files: dict[str, str]
    output: str
    row: re.Pattern[str]
    is_rate: bool
    minutes: float
    """How long it is measured: long enough to detect a cost of 1 % on a virtual machine."""


class Printed(NamedTuple):
    """A row of the program's output: its key, and the logarithm of its time in the program's unit."""

    key: str
    log_time: float


class Spell(NamedTuple):
    """The rows of some seconds with or without the sampler."""

    is_watched: bool
    rows: list[Printed]


class Cost(NamedTuple):
    """The time that the sampler adds, its 95 % interval, and the scatter of ln ratio from pair to pair."""

    percent: float
    low: float
    high: float
    n_pairs: int
    scatter: float


def measure() -> Iterator[Row]:
    """Yield the sampler's cost for each program, with its interval."""
    if is_installed("intelmpi", mpi_folder()):
        yield _row(_ping_pong())
    else:
        yield Row("watching a ping-pong", "left out", "needs Intel MPI", "tare lab setup")
    if shutil.which("hpcc"):
        yield _row(_linpack())
    else:
        yield Row("watching Linpack", "left out", "needs hpcc", "make programs")


def _ping_pong() -> Program:
    n = 24000  # round trips per row: over half of its time is measured, and it is much shorter than a spell
    lengths = "".join(f"{size}\n" for _ in range(20) for size in (8, 1024, 65536))
    command = ["IMB-MPI1", "-npmin", "2", "-msglen", "lengths.txt", "-iter", f"{n}", "-iter_policy", "off"]
    command += ["PingPong"]
    row = re.compile(rf"^ +(\d+) +{n} +([\d.]+) +[\d.]+ *$")
    files = {"lengths.txt": lengths}
    return Program("a ping-pong of IMB", "watched", command, files, "stdout", row, is_rate=False, minutes=15)


def _linpack() -> Program:
    """Return HPCC with an input that solves Linpack 400 times, by listing the same algorithm repeatedly."""
    values = [
        *("", "", "", "8", "1", "1000", "1", "64", "0", "1", "1", "2", "16.0"),
        *("20", "2 " * 20, "1", "4", "1", "2", "20", "1 " * 20),  # panel and recursive factorisations
        *("1", "1", "1", "1", "2", "64", "0", "0", "1", "8", "", "0", "0", "0", "0"),
    ]
    row = re.compile(r"^(WR)\S+ +\d+ +\d+ +\d+ +\d+ +\S+ +(\S+)$")
    files = {"hpccinf.txt": "\n".join(values) + "\n"}
    return Program(
        "Linpack in HPCC", "debian-watched", ["hpcc"], files, "hpccoutf.txt", row, is_rate=True, minutes=8
    )


def _row(program: Program) -> Row:
    spells: list[Spell] = []
    what = f"{program.name} for {program.minutes:g} minutes"
    with Console(stderr=True).status(what) as status:
        for pair in _watch_in_turn(program):
            spells += pair
            cost = cost_of(spells)
            status.update(f"{what}: {cost.percent:+.1f} % [{cost.low:+.1f}, {cost.high:+.1f}] so far")
    cost = cost_of(spells)
    return Row(
        f"{program.name}: sampled at {1 / PERIOD_S:g} Hz | pairs of spells",
        f"{cost.percent:+.2f} %",
        str(cost.n_pairs),
        f"within ±{GOAL:.0%}: [{cost.low:+.2f}, {cost.high:+.2f}] %; pairs scatter by {cost.scatter:.1%}",
    )


def cost_of(spells: list[Spell]) -> Cost:
    """Return the ratio of times, paired as `tare compare` pairs blocks."""
    reference, contender = _levels(spells)
    found = ratios(reference, contender)
    percent, low, high = (100 * (float(side[0]) - 1) for side in (found.ratio, found.low, found.high))
    scatter = float(np.log(contender / reference).std())
    return Cost(percent, low, high, int(found.n_blocks[0]), scatter)


def _levels(spells: list[Spell]) -> tuple[Floats, Floats]:
    """Return the relative times of each pair of spells, without and with the sampler, around a mean of 1.

    Both arrays have shape (pairs, 1). Each row counts as its ratio to the geometric mean of its key, because
    rows with different keys are for different message sizes.
    """
    by_key: dict[str, list[float]] = defaultdict(list)
    for spell in spells:
        for row in spell.rows:
            by_key[row.key].append(row.log_time)
    means = {key: statistics.fmean(times) for key, times in by_key.items()}
    levels: dict[bool, list[float]] = {False: [], True: []}
    for spell in spells:
        level = statistics.fmean(row.log_time - means[row.key] for row in spell.rows)
        levels[spell.is_watched].append(math.exp(level))
    return np.array([levels[False]]).T, np.array([levels[True]]).T


def _watch_in_turn(program: Program) -> Iterator[list[Spell]]:
    """Run a program in the lab repeatedly for its number of minutes, and yield its spells in pairs."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        loaded = _loaded(program, folder)
        site, case = loaded.composer.site, loaded.plan.cases[0]
        hosts = loaded.composer.hosts(case)
        env = stack.enter_context(lab_env(site, [site.platforms[program.platform]], hosts))
        label = f"bench:{folder.name}:0:"
        backend = stack.enter_context(ProcessBackend(label=label, agent=site.agent, hosts=hosts, env=env))
        samplers = Samplers(
            program=sampler_program(),
            label=f"{label}sampler;",
            agent=backend.agent,
            env=env,
            on_start=backend.keep,
            raw_name=raw_name,
        )
        stack.enter_context(closing(samplers))
        with samplers.watch(hosts, folder, PERIOD_S):
            pass  # this starts the samplers; they sleep from now on
        backend.adopt()
        over_at = time.monotonic() + program.minutes * 60
        for turn in itertools.takewhile(lambda _: time.monotonic() < over_at, itertools.count()):
            work = folder / str(turn)
            rows = _rows(program, loaded, backend, work)
            yield from pairs(rows, partial(samplers.watch, hosts, work, PERIOD_S))
            recording = read(SafeFolder(work))
            if recording is None or len(recording.hosts) != len(hosts):
                raise RuntimeError("the nodes were not watched")


def _loaded(program: Program, folder: Path) -> Loaded:
    study = {
        "study": "observer",
        "site": str(SITE),
        "platform": program.platform,
        "workloads": {
            "rows": {
                "command": program.command,
                "mpi": True,
                "files": program.files,
                "foms": [{"name": "none", "unit": "s", "better": "lower", "regex": "(none)"}],
            }
        },
        "factors": {"workload": ["rows"]},
        "nodes": 2,
        "timeout": "10 min",
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study))
    return load(path)


def _rows(program: Program, loaded: Loaded, backend: ProcessBackend, work: Path) -> Iterator[Printed]:
    """Run the program once in the folder `work`, and yield its rows as it prints them."""
    case = loaded.plan.cases[0]
    head = loaded.composer.head(case)
    (staged,) = stage_all(loaded.composer, case, work, head)
    job = Job(
        label=f"bench:{work.parent.name}:0:{work.name};",
        invocation=staged.invocation,
        host=head,
        folder=work,
        timeout_s=loaded.plan.timeout_s,
    )
    exits: list[Exit] = []
    thread = threading.Thread(target=lambda: exits.append(backend.run(job)))
    thread.start()
    try:
        for line in _follow(work / program.output, thread.is_alive):
            found = program.row.match(line)
            if found:
                log = math.log(float(found[2]))
                yield Printed(found[1], -log if program.is_rate else log)
    finally:
        backend.clean(job.label)  # there is something to clean only after an interrupt
        thread.join()
    if exits[0].code != 0:
        raise RuntimeError(f"{program.name} ended with {exits[0]}: {(work / job.stderr).read_text()[-500:]}")


def _follow(path: Path, is_growing: Callable[[], bool]) -> Iterator[str]:
    """Yield the complete lines of a file as they are written, until `is_growing` returns False."""
    done, rest = 0, b""
    while True:
        was_growing = is_growing()
        if path.is_file():
            with path.open("rb") as file:
                file.seek(done)
                fresh = file.read()
            done += len(fresh)
            *lines, rest = (rest + fresh).split(b"\n")
            yield from (line.decode() for line in lines)
        if not was_growing:
            return
        time.sleep(0.02)


def pairs(
    rows: Iterator[Printed], watch: Callable[[], AbstractContextManager[object]]
) -> Iterator[list[Spell]]:
    """Yield spells with and without the sampler in pairs, each in random order, until the rows end.

    The row during which the sampler starts or stops belongs to neither.
    """
    while True:
        pair: list[Spell] = []
        for is_watched in random.sample([False, True], 2):
            with watch() if is_watched else nullcontext():
                pair.append(Spell(is_watched, _spell(rows)))
        if not all(spell.rows for spell in pair):
            return
        yield pair


def _spell(rows: Iterator[Printed]) -> list[Printed]:
    """Skip one row and return those of the next SPELL_S seconds; none if the program ends before that."""
    next(rows, None)
    over_at = time.monotonic() + SPELL_S
    found: list[Printed] = []
    for row in rows:
        found.append(row)
        if time.monotonic() >= over_at:
            return found
    return []
