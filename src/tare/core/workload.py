"""A workload: how a benchmark is started, and how its output becomes measurements."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from tare.core.bounds import Resource
from tare.core.case import Case, Layout
from tare.core.site import SiteFact
from tare.core.units import format_bytes, write_bytes
from tare.core.values import Scalar, Settings


class Better(enum.StrEnum):
    """The direction in which a figure of merit improves."""

    LOWER = "lower"
    HIGHER = "higher"


class QuestionKind(enum.StrEnum):
    """What a comparison asks, by what differs between its sides."""

    NETWORK = "network"
    STORAGE = "storage"
    """Storage paths, and how much is read and written: only times with all input and output answer."""
    PLATFORM = "platform"
    """Bare metal, containers, pods, virtual machines."""
    COMPUTE = "compute"
    """Parameters of the workload, threads, compilers."""
    SCHEDULER = "scheduler"
    """How work is queued, placed and bound."""


ALL_BUT_STORAGE = (
    QuestionKind.NETWORK,
    QuestionKind.PLATFORM,
    QuestionKind.COMPUTE,
    QuestionKind.SCHEDULER,
)
"""Kinds of question that the pace of an application's steps answers, its input and output left out."""


class Fom(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of merit: a named quantity with a unit and a direction.

    `by` names its coordinates, such as ``bytes``; a FOM without any is one number a run.
    A workload's `is_primary` FOMs are the ones that a summary shows. `limit` is the resource that bounds it
    where one does, in data or operations a second. `answers` are the kinds of question that the FOM answers
    in a headline; for a kind that no FOM of the workload declares, the primary ones answer.
    """

    name: str
    unit: str
    better: Better
    by: tuple[str, ...] = ()
    summary: str = ""
    is_primary: bool = False
    limit: Resource | None = None
    answers: tuple[QuestionKind, ...] = ()


def limited(foms: Iterable[Fom], unit: str, limit: Resource) -> tuple[Fom, ...]:
    """Return `foms`, those of `unit` bound by `limit`."""
    return tuple(msgspec.structs.replace(fom, limit=limit) if fom.unit == unit else fom for fom in foms)


class Measurement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One FOM value read out of an attempt, with its coordinates. The value is always finite."""

    fom: str
    value: float
    unit: str
    at: Settings = {}


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What a parser found.

    `is_complete` says that the output holds everything that the program was asked for, to the end.
    `problems` are the reasons for which the run must not count, each a sentence.
    `is_end_told` is False where nothing, neither the output nor a case, tells where the output should end, so
    that `is_complete` only says that nothing is seen to be missing.
    `payload_bytes` is the least that each node must have moved over its network for these
    measurements to be true, all repetitions together, where the output tells; `n_messages` in how many
    messages at least, each awaited before the next.
    `printed` is what the program said of itself: ``ranks``, ``nodes``, ``threads`` or a parameter of the
    workload, by name. A name has several values where parts of the output say different things.
    """

    measurements: tuple[Measurement, ...] = ()
    is_complete: bool = False
    problems: tuple[str, ...] = ()
    payload_bytes: int | None = None
    n_messages: int = 0
    is_end_told: bool = True
    printed: Mapping[str, tuple[Scalar, ...]] = {}


class ParameterKind(enum.StrEnum):
    """How a parameter is written in a study, and the unit that it is kept in."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    FLAG = "true or false"
    BYTES = "bytes"
    SECONDS = "seconds"
    FRACTION = "fraction"


_UNITS = {ParameterKind.SECONDS: " s", ParameterKind.FRACTION: " %"}


def written(value: Scalar, kind: ParameterKind | None) -> str:
    """Return a setting's value with its unit, as a study writes it: ``64KiB``, ``120 s``, ``80 %``, ``true``.

    `kind` is None where it is not known, or where the value has none, as a name.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if kind is ParameterKind.BYTES:
        return write_bytes(value) if isinstance(value, int) else format_bytes(value).replace(" ", "")
    number = value * 100 if kind is ParameterKind.FRACTION else value
    text = f"{number:.15g}" if isinstance(number, float) else str(number)
    return text + _UNITS.get(kind, "") if kind else text


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a workload, with its default; None means that the case must set it.

    `fact` is what the site tells for a case that sets neither this parameter nor the one named `unless`,
    which makes it needless.
    """

    name: str
    kind: ParameterKind
    default: Scalar | None
    summary: str
    choices: tuple[Scalar, ...] = ()
    minimum: float | None = None
    fact: SiteFact | None = None
    unless: str | None = None


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a workload.

    `argv` and `env` may hold ``{work}``, the attempt's working folder, ``{storage}``, a folder of the
    attempt's own on the named storage path, ``{storage_path}``, that path itself, where inputs lie, and
    ``{address0}``, the address of the first host on the case's network. `files` are written into the working
    folder first, by relative name. Ranks are started by the platform's launcher where `is_mpi`,
    in `layout` or, when None, in the case's own. Without MPI it is one process, which uses one node unless it
    names a `layout` that it starts itself. Its ranks are left unbound by default where it `has_own_threads`,
    which the layout does not count. Of a stage that `is_pair`, rank 0 serves rank 1, which a
    backend may also start without any MPI (see tare.plugins.workloads.common.peers).

    A stage with `keeps` is run once for all cases that need the same: those files and folders of the
    working folder are kept, keyed by the stage's command, files, layout and platform, by the content of
    its `inputs` (paths outside the working folder), of its program and of the other `programs` that it calls,
    such as compilers, and by the stages before it.

    Of one that `shares_storage`, ranks on several nodes use the same files below ``{storage}``.
    """

    name: str = "run"
    argv: tuple[str, ...]
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    is_mpi: bool = True
    is_pair: bool = False
    has_own_threads: bool = False
    layout: Layout | None = None
    keeps: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    shares_storage: bool = False


class InlineFom(msgspec.Struct, frozen=True, kw_only=True):
    """A FOM of a workload that a study declares: group 1 of `regex`, or the value at `json` (a dotted path).

    A match on every line gives one value each only where `by` names further groups of the regex as
    coordinates; otherwise the output must hold exactly one.
    """

    fom: Fom
    regex: str | None = None
    json: str | None = None


class InlineCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition on the output; a run that breaks it does not count."""

    matches: Annotated[str | None, Meta(description="A regex that some line must match.")] = None
    lacks: Annotated[str | None, Meta(description="A regex that no line may match.")] = None


class InlineDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that a study declares in YAML. ``{name}`` in `command` is a parameter or a setting."""

    name: str
    command: tuple[str, ...]
    summary: str = ""
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    parameters: tuple[Parameter, ...] = ()
    foms: tuple[InlineFom, ...] = ()
    checks: tuple[InlineCheck, ...] = ()
    output: str = "stdout"
    is_mpi: bool = False
    needs_transport: bool = True


class Workload(Protocol):
    """A benchmark or application. Implementations are values: they start nothing and open nothing."""

    @property
    def name(self) -> str:
        """Its full name, such as ``imb.pingpong``."""
        ...

    @property
    def summary(self) -> str:
        """What it measures, in one line."""
        ...

    @property
    def description(self) -> str:
        """The rest of its doc page: plain text or Markdown."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters in the order in which they matter."""
        ...

    @property
    def foms(self) -> tuple[Fom, ...]:
        """Its figures of merit."""
        ...

    @property
    def output(self) -> str:
        """The file that `parse` reads: ``stdout``, or a file in the working folder, by name or glob."""
        ...

    @property
    def digest(self) -> str | None:
        """A hash of its definition where a study defines it; part of the case's id."""
        ...

    @property
    def needs_transport(self) -> bool:
        """Whether its ranks must talk over the network for its numbers to mean anything."""
        ...

    def derive(self, settings: Settings) -> Mapping[str, Scalar]:
        """Return further names that a study's `where` may use, computed from a case's settings."""
        ...

    def faults(self, case: Case) -> Iterable[str]:
        """Yield why `case` cannot run, each with its cure; nothing when it can."""
        ...

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the programs to run, in order; the first that fails stops the rest."""
        ...

    def expecting(self, case: Case) -> Workload:
        """Return this workload with a parser that knows what `case` asked for.

        For outputs that do not announce where they end; others return themselves.
        """
        ...

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read `lines` of the output once, keeping only figures in memory.

        Never raises on any input, never returns a number that is not in the text.
        """
        ...
