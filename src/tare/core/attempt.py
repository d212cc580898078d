"""An attempt: one try at a run, and its result."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

import msgspec

from tare.core.case import Pass
from tare.core.counting import count
from tare.core.job import Counters
from tare.core.telemetry import PREFIX
from tare.core.telemetry_sources import TelemetryFigure
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.core.values import CaseId, Elapsed, EpochSeconds, Figure, Ordinal, Scalar
from tare.core.workload import Better, Measurement


class State(enum.StrEnum):
    """The state of a planned run. Only DONE runs are measured."""

    DONE = "done"
    FAILED = "failed"
    INVALID = "invalid"
    LOST = "lost"
    RUNNING = "running"
    PENDING = "pending"


class Series(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The values of one FOM in one attempt; `at` holds a list of coordinates, one for each value, by name."""

    fom: str
    unit: str
    better: Better | None = None
    at: dict[str, list[Scalar]] = {}
    values: list[Figure] = []

    def __post_init__(self) -> None:
        """Raise ValueError if a list of coordinates is not as long as the values, as in a damaged file."""
        for name, column in self.at.items():
            if len(column) != len(self.values):
                raise ValueError(
                    f"{count(len(self.values), 'value')} of {self.fom}, and {len(column)} of {name}"
                )

    def measurements(self) -> Iterator[Measurement]:
        """Yield the values one by one."""
        for row, value in enumerate(self.values):
            at = {name: column[row] for name, column in self.at.items()}
            yield Measurement(fom=self.fom, value=value, unit=self.unit, at=at)


def gather_series(measurements: Iterable[Measurement], better: dict[str, Better]) -> list[Series]:
    """Return measurements as series, one for each FOM, unit and set of coordinate names."""
    gathered: dict[tuple[str, str, tuple[str, ...]], Series] = {}
    for one in measurements:
        key = (one.fom, one.unit, tuple(one.at))
        series = gathered.get(key)
        if series is None:
            series = gathered[key] = Series(
                fom=one.fom,
                unit=one.unit,
                better=better.get(one.fom),
                at={name: [] for name in one.at},
                values=[],
            )
        series.values.append(one.value)
        for name, coordinate in one.at.items():
            series.at[name].append(coordinate)
    return list(gathered.values())


Traffic = dict[str, dict[str, Counters]]
"""The network traffic of an attempt, by host, and by interface or DEVICE:PORT of an RDMA adapter."""


class Proof(enum.StrEnum):
    """How strong the proof is that the data between nodes crossed the network that was asked for."""

    COUNTED = "counted"
    """Counters of the network that should carry the data show that it did."""
    REPORTED = "said"
    """No counter shows it, but the MPI library itself names this network."""
    NOT_PROVEN = "not proven"
    """No counter shows it, and the MPI library reported nothing."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file that an attempt was imported from: its path, and the SHA-256 of its content.

    `gives_block` is true if the file's block is given; otherwise blocks only number the runs of a case.
    `gives_time` is true if the time of the run is given; otherwise `started_at` is when the file was written.
    """

    path: str
    sha256: str
    gives_block: bool = msgspec.field(name="tells_block", default=False)
    gives_time: bool = msgspec.field(name="tells_time", default=False)


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one try at a run.

    - `reason` says in a sentence why it is not DONE.
    - `is_infrastructure` is true if the infrastructure caused that, so that the run may be tried again.
    - `started_at` is in seconds since the epoch (time(2)), None where it is unknown, as for some imported
      runs.
    - `source` is set for imported runs, which Tare did not start.
    - `transport` and `placement` are the evidence that the network carried the data, and that ranks were
      where they should be.
    - `proof` is the strength of the evidence in `transport`. It is None where there was nothing to prove, or
      an earlier version of Tare judged it.
    - `chosen` is what the MPI's libraries report about the transport that they chose, empty where they report
      nothing.
    - `environment` is the hash of the environment in which it ran.
    - `load` is the one-minute load average of this machine when it started.
    - `telemetry` holds figures of what its nodes did during the run, by the names of
      core.telemetry_sources.figures.
    - `imported` holds the means of telemetry that another program recorded; these are not in the journal.
    - `session` is the session of `tare run` in which it began, 0 and below if imported.
    - `part` numbers the parts of a block that an interruption divided, such as a night. Session, block and
      part together identify what ran together with it.
    - `printed` is what its program printed about itself (core.workload.Parsed).
    - `left_out` are the figures that its program printed without a value, such as times of 0.00, each a
      sentence that says why it is not measured.
    - `suspended_s` is how long the machine of `tare run` was suspended during the attempt.
    - `clock_set_s` is by how much the wall clock of that machine was set, positive for forward.
    - `evidence` is the SHA-256 of the list of checksums of its files (storage.manifest), empty where there is
      no list.
    - `queued_s`, `starting_s` and `ending_s` are for batch systems, and 0 elsewhere: how long it waited for
      nodes, how long it had nodes before its program began, and how long it took from the program's end until
      its results were back.
    - `is_profiled` is true for a run of its own with the profiling library, which is never compared.
    - `ran_as` is the id of the profiled case, in the journal and the folder, where `case` is the one that it
      profiles.
    """

    case: CaseId
    block: Ordinal
    attempt: Ordinal
    state: State
    reason: str = ""
    check: str = ""
    is_infrastructure: bool = False
    started_at: EpochSeconds | None
    elapsed_s: Elapsed = 0.0
    exit_code: int | None = None
    signal: int | None = None
    hosts: list[str] = []
    series: list[Series] = []
    traffic: Traffic = {}
    transport: str = ""
    proof: Proof | None = None
    chosen: str = ""
    placement: str = ""
    load: float | None = None
    environment: str | None = None
    source: Source | None = None
    telemetry: dict[str, Figure] = {}
    imported: dict[str, Figure] = {}
    session: Ordinal = 0
    part: Ordinal = 0
    printed: dict[str, list[Scalar]] = {}
    left_out: list[str] = []
    evidence: str = ""
    suspended_s: float = 0.0
    clock_set_s: float = 0.0
    queued_s: Elapsed = 0.0
    starting_s: Elapsed = 0.0
    ending_s: Elapsed = 0.0
    is_profiled: bool = False
    ran_as: str = ""

    def supersedes(self, other: Attempt | None) -> bool:
        """Return whether it is no earlier a try at a run than `other`, so that it decides the run's state."""
        return other is None or self.attempt >= other.attempt

    @property
    def held_s(self) -> float:
        """Return for how long it had its nodes: before, during and after its program."""
        return self.starting_s + self.elapsed_s + self.ending_s

    @property
    def taken_s(self) -> float:
        """Return its whole duration, from entering a queue to having its results."""
        return self.queued_s + self.held_s

    @property
    def telemetry_series(self) -> list[Series]:
        """Return its telemetry as series of one value each.

        These are figures of merit, but not the workload's.

        There are none unless the attempt is DONE, as for the workload's own figures.
        """
        if self.state is not State.DONE or not (self.telemetry or self.imported):
            return []
        known = telemetry_figures()
        own = {name: self.telemetry[name] for name in known if name in self.telemetry}
        return [
            *(_single(name, known[name], value) for name, value in own.items()),
            *(_single(f"imported.{name}", known.get(name), one) for name, one in self.imported.items()),
        ]

    @property
    def together(self) -> Pass:
        """Return the pass that it belongs to: attempts with the same pass ran together."""
        return Pass(self.session, self.block, self.part)

    @property
    def transport_evidence(self) -> str:
        """Return the proof's strength and the evidence for its network: ``counted: eth0 carried …``."""
        return f"{self.proof}: {self.transport}" if self.proof else self.transport

    @property
    def remark(self) -> str:
        """Return what to know of a run that is done: the evidence for its network, and what it left out."""
        return "; ".join(filter(None, (self.transport_evidence, *self.left_out)))

    @property
    def is_settled(self) -> bool:
        """Return whether its run has a final result: not lost, and not broken by the infrastructure."""
        return self.state in {State.DONE, State.FAILED, State.INVALID} and not self.is_infrastructure

    @property
    def folder(self) -> str:
        """Return the folder of its evidence, relative to the campaign folder."""
        return f"attempts/{self.ran_as or self.case}/{self.block}.{self.attempt}"


def _single(name: str, figure: TelemetryFigure | None, value: float) -> Series:
    """Return a figure of telemetry as a series of one value; an unknown figure has no unit."""
    unit, better = (figure.unit, figure.better) if figure else ("", None)
    return Series(fom=PREFIX + name, unit=unit, better=better, values=[value])
