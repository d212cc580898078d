"""How `tare run` carries runs out, by its options, and whether programs get a higher priority."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tare.core.case import Case
from tare.core.site import Site
from tare.terminal.output import echo, echo_or_drop


class RunOptions(NamedTuple):
    """How runs are executed, according to the options of `tare run`.

    - `jobs`: at most this many runs at a time, except runs in a batch system.
    - `keeps_storage`: whether the runs' own folders on storage paths are kept.
    - `boosts`: whether programs get a higher priority than others on their nodes. The user needs the right to
      do this, and programs that a batch system starts do not get it.
    - `is_rehearsing`: whether Tare checks before the first run that programs can start.
    - `rehearsed`: the cases that are checked.
    - `announce` takes each sentence on the session, such as why runs wait, `note` those on what may go wrong.
    """

    jobs: int = 1
    keeps_storage: bool = False
    boosts: bool = True
    is_rehearsing: bool = False
    rehearsed: tuple[Case, ...] = ()
    announce: Callable[[str], None] = echo_or_drop
    note: Callable[[str], None] = partial(echo, err=True)


DEFAULT = RunOptions()

BOOSTED = "autogroup nice -20"
NOT_ALLOWED = "none: this user may not"


def describe_boost(site: Site, options: RunOptions) -> str:
    """Return, as recorded in the environment, whether programs have priority on their nodes.

    Empty if each node must be asked: over ssh, the ranks that an MPI starts raise their priority themselves.
    Nodes of the lab are this machine.
    """
    from tare.plugins.backends.process.priority import may_boost

    if not options.boosts:
        return "off: --no-boost"
    if site.agent and site.lab is None:
        return ""
    return BOOSTED if may_boost() else NOT_ALLOWED


def boost_tries(site: Site, boost: str) -> int:
    """Return how often a rank tries to raise the priority of its session; `boost` is from `describe_boost`.

    In the lab, ranks lack the right to do this. They wait until Tare does it, 0.1 s between two tries.
    """
    if boost == BOOSTED:
        return 30 if site.lab else 1
    return 0 if boost else 1
