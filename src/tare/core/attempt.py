"""An attempt: one try at a run, and what came of it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

import msgspec

from tare.core.case import Pass
from tare.core.job import Counters
from tare.core.telemetry import PREFIX
from tare.core.telemetry_sources import TelemetryFigure
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.core.values import CaseId, Elapsed, EpochSeconds, Ordinal, Scalar
from tare.core.workload import Better, Measurement


class State(enum.StrEnum):
    """What is known of a planned run. Only DONE runs are measured."""

    DONE = "done"
    FAILED = "failed"
    INVALID = "invalid"
    LOST = "lost"
    RUNNING = "running"
    PENDING = "pending"


class Series(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The values of one FOM in one attempt, with one list of coordinates for each name in `at`."""

    fom: str
    unit: str
    better: Better | None = None
    at: dict[str, list[Scalar]] = {}
    values: list[float] = []

    def __post_init__(self) -> None:
        """Refuse a series, as of a damaged file, whose values do not each have all coordinates."""
        for name, column in self.at.items():
            if len(column) != len(self.values):
                raise ValueError(f"{len(self.values)} values of {self.fom}, and {len(column)} of {name}")

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
"""What crossed the network during an attempt, by host, and by interface or DEVICE:PORT of an RDMA adapter."""


class Proof(enum.StrEnum):
    """How strong the proof is that the network which was asked for carried the data between nodes."""

    COUNTED = "counted"
    """Counters of what should carry them show that it did."""
    SAID = "said"
    """No counter shows it; the MPI itself names this network."""
    NOT_PROVEN = "not proven"
    """No counter shows it, and the MPI said nothing."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file that an attempt was imported from: where it lay, and the SHA-256 of its content.

    `tells_block` says that it told its block itself; else blocks only number the runs of a case. `tells_time`
    says that it told when it ran; else `started_at` is when the file was written.
    """

    path: str
    sha256: str
    tells_block: bool = False
    tells_time: bool = False


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one try at a run.

    `reason` says in a sentence why it is not DONE. `retry` says that the infrastructure was to
    blame and the run may be tried again. `started_at` is seconds since the epoch (time(2)), None where
    an imported run does not tell. `source` is set for imported runs: Tare did not make those.
    `transport` and `placement` are the evidence that the network carried the data and that ranks were where
    they should be; `proof` is how strong the former is, None where there was nothing to prove, or an earlier
    version of Tare judged it; `chosen` is what the MPI's libraries said of the transport that they chose,
    empty where they said nothing. `environment` is the hash of the environment that it ran in; `load` the
    one-minute load average of this machine when it started. `telemetry` holds what its nodes did meanwhile,
    by the names of model.telemetry.FIGURES; `imported` the means of what somebody else recorded of them,
    which no journal holds. `session` is the session of `tare run` in which it began, 0 and below if
    imported, and `part` numbers the parts of a block that something parted, as a night does: with its block
    they tell what ran beside it. `printed` is what its program said of itself
    (workload.Parsed). `suspended_s` is for how long the machine of `tare run` was suspended meanwhile, and
    `clock_set_s` by how much its wall clock was set, forward above 0. `evidence` is the SHA-256 of the list
    of checksums of what it left behind (store.manifest); empty where there is none. In a batch system it was
    `queued_s` without nodes, `starting_s` on them before its program began, and `ending_s` after that until
    its results were home; elsewhere these are 0.
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
    telemetry: dict[str, float] = {}
    imported: dict[str, float] = {}
    session: Ordinal = 0
    part: Ordinal = 0
    printed: dict[str, list[Scalar]] = {}
    evidence: str = ""
    suspended_s: float = 0.0
    clock_set_s: float = 0.0
    queued_s: Elapsed = 0.0
    starting_s: Elapsed = 0.0
    ending_s: Elapsed = 0.0

    def supersedes(self, other: Attempt | None) -> bool:
        """Return whether it is a later try at a run than `other`, so that it tells what became of the run."""
        return other is None or self.attempt >= other.attempt

    @property
    def held_s(self) -> float:
        """Return for how long it had its nodes: until its program began, while that ran, and after it."""
        return self.starting_s + self.elapsed_s + self.ending_s

    @property
    def taken_s(self) -> float:
        """Return how long it took in all, from its place in a queue to its results."""
        return self.queued_s + self.held_s

    @property
    def telemetry_series(self) -> list[Series]:
        """Return its telemetry as series, each of one value: figures of merit, but none of the workload's.

        As with those, there is none where it is not DONE.
        """
        if self.state is not State.DONE:
            return []
        known = telemetry_figures()
        own = {name: self.telemetry[name] for name in known if name in self.telemetry}
        return [
            *(_single(name, known[name], value) for name, value in own.items()),
            *(_single(f"imported.{name}", known.get(name), one) for name, one in self.imported.items()),
        ]

    @property
    def together(self) -> Pass:
        """Return the pass that it belongs to: what ran beside it has the same."""
        return Pass(self.session, self.block, self.part)

    @property
    def transport_told(self) -> str:
        """Return the evidence for its network behind its strength, such as ``counted: eth0 carried …``."""
        return f"{self.proof}: {self.transport}" if self.proof else self.transport

    @property
    def is_settled(self) -> bool:
        """Return whether its run has its answer: it was not lost, and not failed by the infrastructure."""
        return self.state in {State.DONE, State.FAILED, State.INVALID} and not self.is_infrastructure

    @property
    def folder(self) -> str:
        """Return where its evidence lies, relative to the campaign folder."""
        return f"attempts/{self.case}/{self.block}.{self.attempt}"


def _single(name: str, figure: TelemetryFigure | None, value: float) -> Series:
    """Return a figure of telemetry as a series of one value; one that nobody here knows has no unit."""
    unit, better = (figure.unit, figure.better) if figure else ("", None)
    return Series(fom=PREFIX + name, unit=unit, better=better, values=[value])
