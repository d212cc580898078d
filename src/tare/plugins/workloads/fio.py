"""fio, the flexible I/O tester: `fio.read`, `fio.write`, `fio.randread`, `fio.randwrite`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.counting import count
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, coordinates
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.peers import port_parameter
from tare.plugins.workloads.common.services import block_faults, services_stage
from tare.plugins.workloads.common.whole_seconds import whole_seconds_faults
from tare.plugins.workloads.fio_results import Job, JsonReader
from tare.plugins.workloads.fio_terse import TerseReader
from tare.plugins.workloads.fio_text import TextReader

_SIGNAL = re.compile(r"fio: terminating on signal [0-9]+")
_ERROR = re.compile(r"fio: pid=.*\berr=[0-9]+/")

_DESCRIPTION = """\
`threads` jobs on each node (and no MPI ranks) read or write a file each below the case's storage path, for
time_s seconds, with iodepth requests under way at once. Bandwidth counts in KiB/s as fio prints it; latencies
are those of completion (clat), in microseconds. Terse output cuts percentiles off to whole microseconds, and
leaves 0 of those below one, which are no figures.

On several nodes, each runs `fio --server`, and the first one also `fio --client` with a job file for each of
them, so that all begin together and their files have names of their own on a file system that they share.
What counts is fio's sum over all clients.

Debian has it (`apt install fio`; https://fio.readthedocs.io). Sequential jobs move blocks of 1 MiB, random
ones of 4 KiB, unless `block` says otherwise. Direct I/O passes the page cache by; a file system that has none
(tmpfs before Linux 6.6) refuses it."""


_OPTIONS = {
    f"--{option}": cure
    for cure, options in {
        "choose another workload, such as fio.randread": ("rw", "readwrite"),
        "set block": ("bs", "blocksize"),
        "set size": ("size",),
        "set threads": ("numjobs",),
        "set iodepth": ("iodepth",),
        "set ioengine": ("ioengine",),
        "set direct": ("direct", "buffered"),
        "set time_s": ("runtime", "timeout"),
        "set storage: the files lie on the storage path of the case": ("directory",),
    }.items()
    for option in options
}
"""fio's options for which the workload has a setting, and what to do instead."""


class FioBenchmark(Benchmark, frozen=True, kw_only=True):
    """A workload that runs fio with one pattern (--rw); `nodes` is the case's number of nodes, if known."""

    pattern: str
    nodes: int | None = None

    def faults(self, case: Case) -> Iterable[str]:
        """Return a fault for each setting that fio would refuse or silently change."""
        return (
            *block_faults(case),
            *option_faults(case, self.name, _OPTIONS),
            *whole_seconds_faults(case, "fio", "time_s"),
        )

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of fio, which deletes its files when it ends."""
        if case.layout.nodes > 1:
            return (self._on_several_nodes(case),)
        argv = (f"--{name}={value}" for name, value in self._options(case).items())
        flags = ("--time_based", "--group_reporting", "--unlink=1", "--output-format=json")
        return (Stage(argv=("fio", f"--name={self.pattern}", *argv, *flags), is_mpi=False),)

    def _on_several_nodes(self, case: Case) -> Stage:
        """Return the stage with a server on each node and one client, which has a job file per server."""
        port = int(case.parameters["port"])
        options = {**self._options(case), "time_based": 1, "group_reporting": 1, "unlink": 1}
        options["directory"] = "${STORAGE}"  # fio's client replaces it by its environment variable
        lines = "".join(f"{name}={value}\n" for name, value in options.items())
        files = {
            f"{node}.fio": f"[{self.pattern}]\n{lines}filename_format=$jobname.{node}.$jobnum\n"
            for node in range(case.layout.nodes)
        }
        stage = services_stage(
            case,
            ["fio", f"--server=ip:%a,{port}"],
            ["fio", "--output-format=json"],
            port,
            each=[f"--client=ip:%a,{port}", "{work}/run/%r.fio"],
            files=files,
        )
        return msgspec.structs.replace(stage, env={"STORAGE": "{storage}"})

    def expecting(self, case: Case) -> Self:
        """Return a copy with the number of nodes that `case` asks for."""
        return msgspec.structs.replace(self, nodes=case.layout.nodes)

    def _options(self, case: Case) -> dict[str, object]:
        parameters = case.parameters
        return {
            "rw": self.pattern,
            "bs": parameters["block"],
            "size": parameters["size"],
            "numjobs": case.layout.threads,
            "iodepth": parameters["iodepth"],
            "ioengine": parameters["ioengine"],
            "direct": int(bool(parameters["direct"])),
            "runtime": f"{float(parameters['time_s']):.0f}",
            "directory": "{storage}",
        }

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the jobs in JSON documents; if there are none, those in fio's text or terse rows."""
        return _Log(self.foms, self.pattern, self.nodes or 1).parse(lines)


class _Log(LogParser):
    banner = Banner("fio-", r'(?m)(?:^fio-|"fio version" : "fio-)([0-9][^\s"]*)')

    def __init__(self, foms: Iterable[Fom], pattern: str, nodes: int) -> None:
        super().__init__(foms)
        self._pattern = pattern
        self._nodes = nodes
        self._json = JsonReader(self._findings)
        self._text = TextReader(self._findings)
        self._terse = TerseReader(self._findings)
        self._is_interrupted = False

    def read(self, line: str) -> None:
        first = line[:1]
        if first == " " and self._json.is_open:
            self._json.add(line)
        elif first == "f" and line.startswith("fio: "):
            self._read_word(line)
        elif self._json.is_open or first == "{":
            self._json.read(line)
        elif first.isdigit() and ";" in line:
            self._terse.read(line)
        elif "verify failed" in line:
            self._findings.problem(f"fio read back other data than it wrote: {line[:200]}")
        else:
            self._text.read(line)

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end: a closing brace is whole, a terse row is not."""
        if line == "}":
            self.read(line)
        elif line[:1].isdigit() and ";" in line:
            self._terse.faults.setdefault("the last row of fio's terse output lacks its end")

    def _read_word(self, line: str) -> None:
        if _SIGNAL.match(line):
            self._is_interrupted = True
            self._findings.problem(f"fio was interrupted: {line}")
        elif _ERROR.match(line):
            self._findings.problem(f"fio printed: {line[:200]}")

    def parsed(self) -> Parsed:
        self._json.finish()
        self._text.finish()
        runs, faults = self._results()
        if self._nodes > 1:
            faults = [*faults, *_missing_clients(runs, self._nodes)]
            runs = [[job for job in jobs if job.is_sum] for jobs in runs]
        is_terse = runs == [self._terse.jobs]
        if not any(job.figures for jobs in runs for job in jobs):
            faults = [*faults, "the output holds no figures of fio"]
        self._findings.problems(faults)
        which = coordinates([_common(jobs) for jobs in runs])
        for jobs, run in zip(runs, which, strict=True):
            self._findings.record_facts(**_common(jobs))
            self._require_pattern(jobs)
            for job, point in _job_points(jobs):
                if job.error:
                    self._findings.problem(f"job {job.name} of fio ended with error {job.error}")
                at = point | run
                for operation, why in job.left_out.items():
                    self._findings.leave_out("latency", why, {"operation": operation, **at})
                for operation, figures in job.figures.items():
                    for fom, value in figures.items():
                        self._findings.measure(fom, value, operation=operation, **at)
        is_complete = not faults and not self._is_interrupted
        return self._findings.parsed(is_complete=is_complete, is_end_known=not is_terse)

    def _require_pattern(self, jobs: list[Job]) -> None:
        """Add a problem if no job of a run has the workload's pattern, or a mix that contains it.

        Where the output prints no pattern, as in terse rows, its operations must be the workload's alone.
        """
        printed = dict.fromkeys(str(job.facts["rw"]) for job in jobs if "rw" in job.facts)
        operations = dict.fromkeys(name for job in jobs for name in job.figures)
        if not printed:
            if operations and [*operations] != [self._pattern.removeprefix("rand")]:
                self._findings.problem(
                    f"fio.{self._pattern} is of rw={self._pattern}, and fio printed no pattern, but figures "
                    f"of {' and '.join(f'{name}s' for name in operations)}; use --output-format=json, which "
                    "prints it"
                )
        elif printed.keys().isdisjoint({self._pattern, *_MIXES.get(self._pattern, ())}):
            self._findings.problem(
                f"fio.{self._pattern} is of rw={self._pattern}, and fio printed rw={', '.join(printed)}"
            )

    def _results(self) -> tuple[list[list[Job]], list[str]]:
        """Return runs and faults from the most detailed format in the log: JSON, then text, then terse."""
        if self._json.runs or self._json.faults:
            others = [*self._text.runs] or ([self._terse.jobs] if self._terse.jobs else [])
            if any(job.figures for jobs in others for job in jobs) and not _are_same(self._json.runs, others):
                return self._json.runs, [*self._json.faults, "fio's JSON and its text are of other runs"]
            return self._json.runs, self._json.faults
        if self._text.runs:
            return self._text.runs, [*self._text.faults()]
        return [self._terse.jobs] if self._terse.jobs else [], [*self._terse.faults]


def _are_same(runs: list[list[Job]], others: list[list[Job]]) -> bool:
    """Return whether two formats report the same runs: as many runs and jobs, with equal last rates."""
    if len(runs) != len(others) or not runs or [len(jobs) for jobs in runs] != [len(jobs) for jobs in others]:
        return False
    for one, other in zip(runs[-1], others[-1], strict=True):
        for operation, figures in other.figures.items():
            rate = one.figures.get(operation, {}).get("iops", 0.0)
            if abs(rate - figures.get("iops", 0.0)) > _ROUNDED * rate + 1:
                return False
    return True


_MIXES: Mapping[str, tuple[str, ...]] = {
    "read": ("rw", "readwrite"),
    "write": ("rw", "readwrite", "trimwrite"),
    "randread": ("randrw",),
    "randwrite": ("randrw", "randtrimwrite"),
}
"""The mixed patterns that contain the operation of each workload."""
_ROUNDED = 0.02
"""Relative difference allowed between a rate in text, which has few digits, and the rate in JSON."""


def _common(jobs: list[Job]) -> dict[str, Scalar]:
    """Return the settings that all jobs of a run have in common."""
    separate = [job.facts for job in jobs if not job.is_sum]
    first = separate[0] if separate else {}
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in separate)}


def _missing_clients(runs: list[list[Job]], nodes: int) -> Iterator[str]:
    """Yield a fault for each run that lacks the results of some nodes, or the sum over all clients."""
    for jobs in runs:
        n_clients = len(jobs) - sum(job.is_sum for job in jobs)
        if n_clients != nodes or n_clients == len(jobs):
            yield (
                f"fio has results of {n_clients} of {count(nodes, 'node')}, and {len(jobs) - n_clients} "
                "sums of them"
            )


def _job_points(jobs: list[Job]) -> Iterator[tuple[Job, dict[str, Scalar]]]:
    """Yield each job with its coordinates: its name, numbered if it repeats, and its host."""
    counts = Counter((job.host, job.name) for job in jobs)
    seen = Counter[tuple[str | None, str]]()
    hosts = {job.host for job in jobs if job.host}
    for job in jobs:
        key = job.host, job.name
        seen[key] += 1
        name = f"{job.name}#{seen[key]}" if counts[key] > 1 else job.name
        host: dict[str, Scalar] = {"host": job.host} if job.host and len(hosts) > 1 else {}
        yield job, ({"job": name, **host} if len(jobs) > 1 else {})


_FOMS = (
    declare.higher("bandwidth", "KiB/s", "2¹⁰ bytes per second", "operation", is_primary=True),
    declare.higher("iops", "op/s", "reads or writes per second", "operation", is_primary=True),
    declare.lower("latency", "us", "time from submission to completion, mean", "operation"),
    declare.lower("latency_p50", "us", "the same, median", "operation"),
    declare.lower("latency_p95", "us", "the same, 95th percentile", "operation"),
    declare.lower("latency_p99", "us", "the same, 99th percentile", "operation"),
    declare.lower("latency_p999", "us", "the same, 99.9th percentile", "operation"),
)


def _workload(pattern: str, block: int, iodepth: int, summary: str) -> FioBenchmark:
    return FioBenchmark(
        name=f"fio.{pattern}",
        summary=summary,
        description=_DESCRIPTION,
        parameters=(
            declare.size("block", block, "size of one request", minimum=1),
            declare.size("size", 1 << 30, "size of each job's file", minimum=1),
            declare.whole("iodepth", iodepth, "requests under way at once in each job", minimum=1),
            declare.seconds(
                "time_s", 30.0, "how long each job runs, over its file again and again", minimum=1
            ),
            declare.flag("direct", True, "pass the page cache by (O_DIRECT)"),
            declare.text(
                "ioengine",
                "libaio",
                "how requests are made; psync and sync have one under way, whatever iodepth says",
                choices=("libaio", "io_uring", "psync", "sync"),
            ),
            port_parameter(8765),
        ),
        foms=_FOMS,
        needs_transport=False,
        pattern=pattern,
    )


WORKLOADS = (
    _workload("read", 1 << 20, 8, "Jobs read files from end to end."),
    _workload("write", 1 << 20, 8, "Jobs write files from end to end."),
    _workload("randread", 4096, 32, "Jobs read small blocks of files at random."),
    _workload("randwrite", 4096, 32, "Jobs write small blocks of files at random."),
)
