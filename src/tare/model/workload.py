"""A workload: how a benchmark is started, and how its output becomes measurements."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from tare.model.case import Case, Layout
from tare.model.site import SiteFact
from tare.model.values import Scalar, Settings


class Better(enum.StrEnum):
    """The direction in which a figure of merit improves."""

    LOWER = "lower"
    HIGHER = "higher"


class Fom(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of merit: a named quantity with a unit and a direction.

    `by` names its coordinates, such as ``bytes``; a FOM without any is one number a run.
    A workload's `is_primary` FOMs are the ones that a summary shows.
    """

    name: str
    unit: str
    better: Better
    by: tuple[str, ...] = ()
    summary: str = ""
    is_primary: bool = False


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
    measurements to be true, where the output tells.
    """

    measurements: tuple[Measurement, ...] = ()
    is_complete: bool = False
    problems: tuple[str, ...] = ()
    payload_bytes: int | None = None
    is_end_told: bool = True


class ParameterKind(enum.StrEnum):
    """How a parameter is written in a study, and the unit that it is kept in."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    FLAG = "true or false"
    BYTES = "bytes"
    SECONDS = "seconds"
    FRACTION = "fraction"


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

    `argv` and `env` may hold ``{work}``, the attempt's working folder, ``{storage}``, the named storage
    path, and ``{address0}``, the address of the first host on the case's network. `files` are written into
    the working folder first, by relative name. Ranks are started by the platform's launcher where `is_mpi`,
    in `layout` or, when None, in the case's own. Of a stage that `is_pair`, rank 0 serves rank 1, which a
    backend may also start without any MPI (see tare.workloads.common.peers).

    A stage with `keeps` is run once for all cases that need the same: those files and folders of the
    working folder are kept, keyed by the stage's command, files, layout and platform, by the content of
    its `inputs` (paths outside the working folder), of its program and of the other `programs` that it calls,
    such as compilers, and by the stages before it.
    """

    name: str = "run"
    argv: tuple[str, ...]
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    is_mpi: bool = True
    is_pair: bool = False
    layout: Layout | None = None
    keeps: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


class InlineFom(msgspec.Struct, frozen=True, kw_only=True):
    """A FOM of a workload that a study declares: group 1 of `regex`, or the value at `json` (a dotted path).

    A match on every line gives one value each only where `by` names further groups of the regex as
    coordinates; otherwise the output must hold exactly one.
    """

    fom: Fom
    regex: str | None = None
    json: str | None = None


class InlineCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on the output, line by line; a run that breaks it is invalid."""

    matches: str | None = None
    lacks: str | None = None


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
