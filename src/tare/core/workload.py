"""A workload: how a benchmark is started, and how its output becomes measurements.

`Workload` is the protocol. A case gives the `Stage`s to run; `parse` turns the output into `Parsed`
measurements of the declared figures of merit (`Fom`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Protocol, runtime_checkable

import msgspec
from msgspec import Meta

from tare.core.bounds import Resource
from tare.core.case import Case, Layout
from tare.core.site import SiteFact
from tare.core.software import Software
from tare.core.units import format_bytes, write_bytes, write_number
from tare.core.values import Scalar, Settings


class Better(enum.StrEnum):
    """The direction in which a figure of merit improves."""

    LOWER = "lower"
    HIGHER = "higher"


class QuestionKind(enum.StrEnum):
    """What a comparison asks, by what differs between its sides."""

    NETWORK = "network"
    STORAGE = "storage"
    """Storage paths, and how much is read and written.

    Only times that include all input and output answer this.
    """
    PLATFORM = "platform"
    """Bare metal, containers, pods, virtual machines."""
    COMPUTE = "compute"
    """Parameters of the workload, threads, compilers."""
    SCHEDULER = "scheduler"
    """How work is queued, placed on nodes and bound to cores."""


ALL_BUT_STORAGE = (
    QuestionKind.NETWORK,
    QuestionKind.PLATFORM,
    QuestionKind.COMPUTE,
    QuestionKind.SCHEDULER,
)
"""The kinds of question that the pace of an application's steps answers, without its input and output."""


class Fom(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of merit: a named quantity with a unit and a direction.

    `by` names its coordinates, such as ``bytes``; a FOM without coordinates is one number for each run. A
    summary shows the workload's `is_primary` FOMs. `limit` is the resource that bounds it, for data or
    operations a second. `answers` are the kinds of question that the FOM answers in a headline. Questions of
    a kind that no FOM of the workload declares are answered by the primary FOMs.
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
    """Return `foms`, with `limit` as the bound of those that have `unit`."""
    return tuple(msgspec.structs.replace(fom, limit=limit) if fom.unit == unit else fom for fom in foms)


class Measurement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One FOM value read from an attempt, with its coordinates. The value is always finite."""

    fom: str
    value: float
    unit: str
    at: Settings = {}


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a parser.

    - `is_complete` is true if the output holds everything that the program was asked for, to its end.
    - `problems` are the reasons why the run must not count, each a sentence.
    - `is_end_known` is False where neither the output nor a case determines where the output should end.
      `is_complete` then only means that nothing is seen to be missing.
    - `payload_bytes` is the least that each node must have moved over its network for these measurements to
      be true, all repetitions together, where the output shows it.
    - `n_messages` is the least number of messages for that, each awaited before the next.
    - `printed` is what the program printed about itself, by name: ``ranks``, ``nodes``, ``threads`` or a
      parameter of the workload. A name has several values where parts of the output differ.
    - `left_out` are the figures that the program printed without a value, such as times of 0.00, each a
      sentence that says why it is not measured. The run counts.
    """

    measurements: tuple[Measurement, ...] = ()
    is_complete: bool = False
    problems: tuple[str, ...] = ()
    payload_bytes: int | None = None
    n_messages: int = 0
    is_end_known: bool = True
    printed: Mapping[str, tuple[Scalar, ...]] = {}
    left_out: tuple[str, ...] = ()


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
_BYTES, _FRACTION = ParameterKind.BYTES, ParameterKind.FRACTION  # a look-up in an enum is slow in Python 3.11


def written(value: Scalar, kind: ParameterKind | None) -> str:
    """Return a setting's value with its unit, as a study writes it: ``64KiB``, ``120 s``, ``80 %``, ``true``.

    `kind` is None where it is not known, or for values without a kind, such as names. Text of nothing but
    spaces has quotes, so that it can be seen: ``''``.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if value.strip() else repr(value)
    if kind is _BYTES:
        return write_bytes(value) if isinstance(value, int) else format_bytes(value).replace(" ", "")
    if isinstance(value, float) and kind in _UNITS:  # a product with a unit's factor is exact to 15 digits
        text = f"{value * 100 if kind is _FRACTION else value:.15g}"
    else:
        text = write_number(value) if isinstance(value, float) else str(value)
    return text + _UNITS.get(kind, "") if kind else text


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a workload, with its default; None means that the case must set it.

    `fact` is the fact of the site that is the default for a case that sets neither this parameter nor the one
    named `unless`. A case that sets the latter does not need this parameter.

    `is_late` marks a parameter that the workload got after campaigns were recorded. A case in which it has
    its default keeps the id that it had without the parameter.
    """

    name: str
    kind: ParameterKind
    default: Scalar | None
    summary: str
    choices: tuple[Scalar, ...] = ()
    minimum: float | None = None
    fact: SiteFact | None = None
    unless: str | None = None
    is_late: bool = False


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder that is copied into a run's working folder, where its relative name is `name`.

    `path` is where it is on this machine; a relative one begins at the folder of the study. In a study it may
    hold placeholders. `sha256` is the checksum that it must have; None if any will do.
    """

    name: str
    path: str
    sha256: str | None = None


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a workload.

    - `argv` and `env` may contain ``{work}``, the attempt's working folder; ``{storage}``, a folder of the
      attempt's own on the named storage path; ``{storage_path}``, that path itself, where inputs are; and
      ``{address0}``, the address of the first host on the case's network.
    - `files` are written into the working folder first, by relative name. So are `copies`, from this machine.
    - If `is_mpi`, the platform's launcher starts ranks in `layout` or, when None, in the case's own.
      Otherwise it is one process, which uses one node unless it names a `layout` that it starts itself.
    - If it `has_own_threads`, which the layout does not count, its ranks are not bound by default.
    - If it `is_pair`, rank 0 serves rank 1; a backend may start both without any MPI (see
      tare.plugins.workloads.common.peers).
    - With `keeps`, it runs once for all cases that need the same: those files and folders of the working
      folder are kept. Their key is made of the stage's command, files, layout and platform, of the content of
      its `inputs` (paths outside the working folder), of its program and of the other `programs` that it
      calls, such as compilers, and of the stages before it.
    - If it `shares_storage`, ranks on several nodes use the same files below ``{storage}``.
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
    copies: tuple[Input, ...] = ()


class InlineFom(msgspec.Struct, frozen=True, kw_only=True):
    """A FOM of a workload that a study declares: how its value is read.

    It is group 1 of `regex`, the value at `json` (a dotted path), or the column `csv` of a table. Where `by`
    names further groups of the regex, or columns of the table, as coordinates, each matching line or row
    gives one value. Otherwise the output must hold exactly one. `file` is the file that holds it, by name or
    glob; None means the output of the workload.
    """

    fom: Fom
    regex: str | None = None
    json: str | None = None
    csv: str | None = None
    file: str | None = None


class InlineCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on the output; a run that breaks it does not count."""

    matches: Annotated[str | None, Meta(description="A regex that some line must match.")] = None
    lacks: Annotated[str | None, Meta(description="A regex that no line may match.")] = None


class InlineDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that a study declares in YAML. ``{name}`` in `command` is a parameter or a setting.

    `prologue` and `epilogue` are commands before and after the programs of each of its runs.
    """

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
    software: Software = Software()
    inputs: tuple[Input, ...] = ()
    prologue: tuple[tuple[str, ...], ...] = ()
    epilogue: tuple[tuple[str, ...], ...] = ()


@runtime_checkable
class HasOtherOutputs(Protocol):
    """A workload whose figures are in several files."""

    @property
    def others(self) -> Sequence[Workload]:
        """Return a workload for each file beside `output`, which parses that file only."""
        ...


@runtime_checkable
class HasCommandsAround(Protocol):
    """A workload with commands of its own before and after its programs, each a tuple of words."""

    @property
    def prologue(self) -> tuple[tuple[str, ...], ...]:
        """Return the commands before each run's programs."""
        ...

    @property
    def epilogue(self) -> tuple[tuple[str, ...], ...]:
        """Return the commands after each run's programs."""
        ...


class Workload(Protocol):
    """A benchmark or application. Implementations are values: they start nothing and open nothing.

    Large studies are planned faster if it has two attributes that are true: `has_stages_by_layout` says that
    the stages of two cases in the same layout differ in `argv`, `env`, `files` and `copies` alone, and
    `has_faults_by_layout` that two cases have the same faults if they differ in values of parameters alone.
    """

    @property
    def name(self) -> str:
        """Its full name, such as ``imb.pingpong``."""
        ...

    @property
    def summary(self) -> str:
        """Return what it measures, in one line."""
        ...

    @property
    def description(self) -> str:
        """Return the rest of its doc page: plain text or Markdown."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return its parameters, the most important first."""
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
        """Return whether its numbers mean something only if its ranks communicate over the network."""
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

        This is for outputs that do not announce their end; other workloads return themselves.
        """
        ...

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read `lines` of the output once, keeping only figures in memory.

        It raises nothing, for any input, and never returns a number that is not in the text.
        """
        ...
