"""A campaign as read from its folder: the plan, and every attempt so far."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.core.comparison import Mean
from tare.core.memo import Memo
from tare.core.plan import Plan
from tare.core.pseudonyms import Pseudonyms
from tare.core.values import MOST_RUNS, CaseId, EpochSeconds

Environment = dict[str, dict[str, str]]
"""Facts of an attempt's nodes, by host: kernel, CPU, MPI and so on."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One `tare run` of a campaign, with those that continued it at once after an interruption.

    `n_resumed` counts the continuations. `blocks` is the largest number of blocks that was planned when it
    began, 0 where that is unknown. `is_retrying` is true if it tried failed runs again.
    """

    number: int
    began_at: float
    tare: str
    n_resumed: int = 0
    blocks: int = 0
    is_retrying: bool = False


class Reparse(msgspec.Struct, frozen=True, kw_only=True):
    """That the figures of a campaign were read anew from the outputs of another, named `source`.

    `at` is when, in seconds since the epoch, and `tare` the version that read them. `n_runs` counts the
    runs whose outputs were read, `n_changed` those of them that have another state since. `cases` holds the
    ids that the cases had when they ran, by those that they have now: the former drew the order of runs.
    """

    source: str
    at: EpochSeconds
    tare: str
    n_runs: Annotated[int, msgspec.Meta(ge=0, le=MOST_RUNS)]
    n_changed: Annotated[int, msgspec.Meta(ge=0, le=MOST_RUNS)]
    cases: dict[CaseId, CaseId]


class Campaign(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One execution of a study at a site. `attempts` are in the order in which they began.

    - `orders` holds the case ids of each block that was begun, in the order of its runs. A block beyond the
      plan's minimum may have fewer cases.
    - `sessions` are those of `tare run`, earliest first.
    - `is_running` is true while a live process holds the campaign.
    - `is_unpaired` is true if the reader asks to compare also what did not run together.
    - `mean` is the mean that the reader asks for in ratios.
    - `altered` holds, by attempt folder, what is wrong with evidence that changed after its run ended, where
      that was checked; `unreadable`, why that is unknown.
    - `profiled_attempts` are those of the plan's profiled cases, with the case that each profiles.
    - `pseudonyms` are the pseudonyms with which it is shown (storage.pseudonymous).
    - `reparse` says where its figures were read anew from, None for a campaign that read its own runs.
    """

    folder: Path
    plan: Plan
    attempts: tuple[Attempt, ...] = ()
    orders: dict[int, list[str]] = {}
    environments: dict[str, Environment] = {}
    sessions: tuple[Session, ...] = ()
    is_running: bool = False
    is_unpaired: bool = False
    mean: Mean = Mean.GEOMETRIC
    altered: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    profiled_attempts: tuple[Attempt, ...] = ()
    pseudonyms: Pseudonyms = Pseudonyms()
    reparse: Reparse | None = None

    @property
    def shown_folder(self) -> str:
        """Return the folder with pseudonyms, as others may read it."""
        return self.pseudonyms.only(str(self.folder))

    @cached_property
    def compares_unpaired(self) -> bool:
        """Return whether to compare also runs that did not run together: if asked, or if all are imported."""
        measured = self.measured()
        return self.is_unpaired or (bool(measured) and all(one.source is not None for one in measured))

    @cached_property
    def memo(self) -> Memo:
        """Return the cache of what was derived from the campaign, which does not change."""
        return Memo()

    @cached_property
    def cases(self) -> dict[str, Case]:
        """Return the cases by id."""
        return {case.id: case for case in self.plan.cases}

    @cached_property
    def hosts(self) -> frozenset[str]:
        """Return the hosts that runs used, and those whose facts are known."""
        used = {host for one in self.attempts for host in one.hosts}
        return frozenset(used.union(*self.environments.values()))

    def planned(self) -> tuple[Run, ...]:
        """Return every measured run planned so far, block by block."""
        return self._planned

    @cached_property
    def _planned(self) -> tuple[Run, ...]:
        runs: list[Run] = []
        planned = range(1, self.plan.repeats.min + 1)
        for block in sorted({*planned, *(one for one in self.orders if one >= 1)}):
            begun = self.orders.get(block, [])
            rest = () if block > self.plan.repeats.min else (case.id for case in self.plan.order(block))
            runs.extend(Run(block, case) for case in dict.fromkeys([*begun, *rest]))
        return tuple(runs)

    @cached_property
    def is_imported(self) -> bool:
        """Return whether any run was imported, so that Tare cannot guarantee how it was made."""
        return any(one.source is not None for one in self.attempts)

    def measured(self) -> tuple[Attempt, ...]:
        """Return the attempts that count: DONE, of measured blocks (block 1 and up)."""
        return self._measured

    def profiled(self) -> tuple[Attempt, ...]:
        """Return the attempts whose profile counts: DONE, of measured blocks; they are never compared."""
        return tuple(one for one in self._done() if one.is_profiled)

    @cached_property
    def _measured(self) -> tuple[Attempt, ...]:
        return tuple(one for one in self._done() if not one.is_profiled)

    def _done(self) -> list[Attempt]:
        every = (*self.attempts, *self.profiled_attempts)
        return [one for one in every if one.state is State.DONE and one.block >= 1]

    def latest(self) -> dict[Run, Attempt]:
        """Return the last attempt of each run that has one."""
        found: dict[Run, Attempt] = {}
        for one in self.attempts:
            run = Run(one.block, one.case)
            if one.supersedes(found.get(run)):
                found[run] = one
        return found
