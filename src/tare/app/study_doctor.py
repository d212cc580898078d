"""Look for the programs of a study, as `tare doctor STUDY` does: without a run, and without a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from tare.app.executors import hosts_of, lab_env
from tare.app.planning import Loaded
from tare.app.rehearsal import RehearsalResult, find_faults, find_programs
from tare.core.case import Case
from tare.core.checks import Finding
from tare.execution.compose import Composer
from tare.plugins.backends.ownership import sessions
from tare.plugins.backends.process.backend import ProcessBackend

_NOT_ASKED = "nodes of the queue were not asked"
_INSIDE = {True: "pods", False: "containers"}


def examine_study(loaded: Loaded) -> Iterator[Finding]:
    """Yield the findings on what the cases of a study need to start.

    Hosts that Tare itself reaches are asked. Nodes of a batch system are not: their programs are looked for
    on this machine, where they often are in the same place. Programs in containers are not looked for.
    """
    composer, cases = loaded.composer, loaded.plan.cases
    used = {one.platform: composer.site.platforms[one.platform] for one in cases}
    queued = [one for one in cases if used[one.platform].is_queued and not _is_inside(composer, one)]
    with (
        lab_env(composer.site, list(used.values()), hosts_of(loaded)) as env,
        ProcessBackend(
            label=str(sessions.new_session("doctor")),
            agent=composer.site.agent,
            hosts=composer.site.nodes,
            env=env,
        ) as backend,
    ):
        for one in find_faults(composer, backend.ask, cases):
            yield _finding(one)
        for one in find_programs(_on_this_machine(composer), queued, backend.ask):
            yield _unsure(one)
    for name in dict.fromkeys(one.platform for one in cases if _is_inside(composer, one)):
        where = _INSIDE[used[name].options.pods is not None]
        found = f"its programs start in {where}, where nothing was looked for"
        cure = "the first run that cannot start a program ends the program's other runs, and says why"
        yield Finding(name=name, is_met=None, found=found, cure=cure)


def _is_inside(composer: Composer, case: Case) -> bool:
    """Return whether the programs of `case` start in a container or a pod."""
    platform = composer.site.platforms[case.platform]
    return platform.container is not None or platform.options.pods is not None


def _on_this_machine(composer: Composer) -> Composer:
    """Return a composer that reaches no other host."""
    return msgspec.structs.replace(composer, site=msgspec.structs.replace(composer.site, agent=()))


def _finding(one: RehearsalResult) -> Finding:
    make = partial(Finding, name=f"{one.workload} on {one.platform}: {one.subject}")
    where = f" on {', '.join(one.hosts)}" if one.hosts else ""
    if not one.fault:
        return make(is_met=True, found=f"found{where}")
    fault = one.fault.removeprefix(f"{one.subject} ")  # the name has it already
    return make(is_met=None if one.is_note else False, found=f"{fault}{where}", cure=one.cure)


def _unsure(one: RehearsalResult) -> Finding:
    """Return what this machine says of a program that runs elsewhere: a fault may be none there."""
    found = _finding(one)
    text = f"{found.found}; {_NOT_ASKED}"
    return msgspec.structs.replace(found, is_met=found.is_met or None, found=text)
