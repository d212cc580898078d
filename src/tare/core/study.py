"""A study: a question, and the factors that answer it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Annotated, Any, Protocol

import msgspec

from tare.core.errors import Fault
from tare.core.telemetry_options import TelemetryOptions
from tare.core.values import Settings
from tare.core.workload import InlineDefinition, Input

DESIGN_SETTINGS = (
    "workload",
    "platform",
    "network",
    "storage",
    "nodes",
    "ranks",
    "ranks_per_node",
    "threads",
    "bind",
    "io",
)
"""The settings that every case has; every other setting is a parameter of its workload."""


def setting_order(setting: str) -> tuple[int, str]:
    """Return the sort key of a setting: design settings first, in their order, then parameters by name."""
    if setting in DESIGN_SETTINGS:
        return DESIGN_SETTINGS.index(setting), ""
    return len(DESIGN_SETTINGS), setting


SITE_SETTINGS = ("slots",)
"""What conditions know of a case from its site: the ranks that have a core each on one of its nodes.

Absent where the site does not say how many cores its nodes have."""


class Origin(msgspec.Struct, frozen=True):
    """A position in a file; line and column count from 1, and `path` is in terms of the file.

    Both are 0 if `file` is no file but a mapping of Python.
    """

    file: str
    line: int
    column: int
    path: str

    def fault(self, message: str) -> Fault:
        """Return the fault `message` at this position."""
        return Fault(self.file, self.line, self.column, self.path, message)


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a factor: the settings that it makes, and its name in charts, if it has one."""

    settings: Settings
    name: str | None = None
    origin: Origin | None = None


class Factor(msgspec.Struct, frozen=True):
    """A factor: something that the study varies, with its levels in the order of the study file."""

    name: str
    levels: tuple[Level, ...]


class Condition(Protocol):
    """A statement about a case's settings, such as ``nex % 16 == 0``."""

    @property
    def text(self) -> str:
        """Return the condition as the study writes it."""
        ...

    def holds(self, settings: Settings) -> bool | None:
        """Return whether it holds, or None where the case lacks a setting that it uses."""
        ...


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
    """A condition for cases to leave out, and why; `because` is empty where no reason is given."""

    condition: Condition
    because: str = ""
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """Return the condition as the study writes it."""
        return self.condition.text

    def holds(self, settings: Settings) -> bool | None:
        """Return whether the condition holds (see Condition)."""
        return self.condition.holds(settings)


class Budget(msgspec.Struct, frozen=True):
    """The limits of a campaign; None means no limit.

    `counts_queue` is true if waiting in a queue uses hours.
    """

    runs: int | None = None
    hours: float | None = None
    node_hours: float | None = None
    counts_queue: bool = True


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """How many blocks to run: at least `min`, at most `max`, until every interval is within ± `until`.

    `until` is the relative half width of the 95 % interval, 0.02 for ± 2 %.
    """

    min: int = 5
    max: int = 5
    until: float | None = None
    budget: Budget = Budget()

    def exactly(self, n_blocks: int) -> Repeats:
        """Return the same budget with exactly `n_blocks` blocks."""
        return Repeats(min=n_blocks, max=n_blocks, budget=self.budget)

    def may_add_blocks(self, begun: Container[int]) -> bool:
        """Return whether blocks may follow the minimum and those that have `begun`, in order, by number."""
        return self.max > self.min and self.max not in begun


class Scaling(msgspec.Struct, frozen=True):
    """The settings along which scaling is analysed; those of one kind grow together."""

    strong: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()


Margin = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
"""A relative difference; one of a million is more than any figure of merit differs."""


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """How a question is answered, in a study and in its plan.

    - Cases are compared with those that have the settings of `reference`.
    - `warmup` blocks are run first and do not count.
    - A relative difference below `margin` counts as none.
    - A run ends after `timeout_s`; one that the infrastructure broke is tried again `retries` times.
    - `seed` determines the order of runs.
    - If `is_profiled`, each case runs once more in each block, with the profiling library.
    """

    question: str = ""
    reference: Settings = {}
    repeats: Repeats = Repeats()
    warmup: int = 0
    margin: Margin = 0.02
    timeout_s: float = 600.0
    retries: int = 2
    seed: int = 1
    scaling: Scaling = Scaling()
    telemetry: TelemetryOptions = TelemetryOptions()
    is_profiled: bool = False

    def design(self) -> dict[str, Any]:
        """Return these fields alone, by name."""
        return {name: getattr(self, name) for name in Design.__struct_fields__}


class Study(Design, frozen=True, kw_only=True):
    """A question and how to answer it.

    `common` holds the settings that all cases share. A case takes each setting from the most special place
    that makes it: a workload's own level, then a level that sets several things, then a plain factor, then
    `common`. If it `is_aa`, it is an A/A study: the reference is compared with itself. `exclude` may hold an
    Exclusion, which gives a reason. `prologue` and `epilogue` are commands before and after each run's
    programs; `inputs` are copied into its folder first. `own_software` are the settings by which the workload
    that the study names at its top loads software. `named_levels` are the levels that the reference names, by
    their factors. `origins` says where the top entries of its file and all inputs are, by their paths in the
    file.
    """

    name: str
    site: str = "local"
    workloads: tuple[InlineDefinition, ...] = ()
    factors: tuple[Factor, ...] = ()
    cases: tuple[Level, ...] = ()
    common: Settings = {}
    exclude: tuple[Condition, ...] = ()
    where: tuple[Condition, ...] = ()
    is_aa: bool = False
    prologue: tuple[tuple[str, ...], ...] = ()
    epilogue: tuple[tuple[str, ...], ...] = ()
    inputs: tuple[Input, ...] = ()
    own_software: Settings = {}
    named_levels: Mapping[str, str] = {}
    origins: Mapping[str, Origin] = {}

    def fault(self, origin: Origin | None, message: str) -> Fault:
        """Return the fault `message` at `origin`, or at the study as a whole."""
        return origin.fault(message) if origin else Fault(self.name, 1, 1, "", message)
