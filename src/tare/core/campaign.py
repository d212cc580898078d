"""A campaign as it is read back from its folder: the plan, and every attempt made so far."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.core.comparison import Mean
from tare.core.memo import Memo
from tare.core.plan import Plan
from tare.core.pseudonyms import Pseudonyms

Environment = dict[str, dict[str, str]]
"""Facts by host: what the hosts of an attempt were (kernel, CPU, MPI …)."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One `tare run` of a campaign, with those that went on at once where an interruption had ended it.

    `n_resumed` counts the latter. `blocks` is the most blocks that were planned when it began, 0 where
    nothing tells; `is_retrying` says that it tried again what had failed.
    """

    number: int
    began_at: float
    tare: str
    n_resumed: int = 0
    blocks: int = 0
    is_retrying: bool = False


class Campaign(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One execution of a study at a site. `attempts` are in the order in which they ended.

    `orders` holds the case ids of each block that was begun, in the order of its runs; a block beyond
    the plan's minimum may pass over fewer cases. `sessions` are those of `tare run`, the first first.
    `is_running` says that a live process holds the campaign; `is_unpaired` that who reads it asks to have
    compared, too, what did not run together, and `mean` which mean the ratios are asked of. `altered` holds
    what is wrong with evidence that is not as it was when its run ended, by the folder of the attempt, where
    that was looked at. `signs` are those that it is shown with (store.shown).
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
    signs: Pseudonyms = Pseudonyms()

    @property
    def shown_folder(self) -> str:
        """Return the folder as others may read it."""
        return self.signs.only(str(self.folder))

    @property
    def compares_unpaired(self) -> bool:
        """Return whether to compare what did not run together, too: if asked, or if all was imported."""
        measured = self.measured()
        return self.is_unpaired or (bool(measured) and all(one.source is not None for one in measured))

    @cached_property
    def memo(self) -> Memo:
        """Return what was derived from it so far: it does not change."""
        return Memo()

    @cached_property
    def cases(self) -> dict[str, Case]:
        """Return the cases by id."""
        return {case.id: case for case in self.plan.cases}

    @cached_property
    def hosts(self) -> frozenset[str]:
        """Return the hosts that runs used, and those that facts are known of."""
        used = {host for one in self.attempts for host in one.hosts}
        return frozenset(used.union(*self.environments.values()))

    def planned(self) -> tuple[Run, ...]:
        """Return every measured run that is planned so far, block by block."""
        runs: list[Run] = []
        for block in range(1, max([self.plan.repeats.min, *self.orders]) + 1):
            begun = self.orders.get(block, [])
            rest = () if block > self.plan.repeats.min else (case.id for case in self.plan.order(block))
            runs.extend(Run(block, case) for case in dict.fromkeys([*begun, *rest]))
        return tuple(runs)

    @property
    def is_imported(self) -> bool:
        """Return whether any of its runs were imported, so that Tare cannot vouch for how they were made."""
        return any(one.source is not None for one in self.attempts)

    def measured(self) -> tuple[Attempt, ...]:
        """Return the attempts that count: DONE, of measured blocks (block 1 and up)."""
        return tuple(one for one in self.attempts if one.state is State.DONE and one.block >= 1)

    def latest(self) -> dict[Run, Attempt]:
        """Return the last attempt of each run that has one."""
        found: dict[Run, Attempt] = {}
        for one in self.attempts:
            run = Run(one.block, one.case)
            if one.supersedes(found.get(run)):
                found[run] = one
        return found
