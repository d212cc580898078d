"""Build the tasks of attempts as they would be submitted, for `plan --show` and the checks of `doctor`."""

from __future__ import annotations

import posixpath
from collections import Counter
from pathlib import Path

import msgspec

from tare.app.planning import Loaded
from tare.core.backend_plugin import BatchBackend, PlannedTask
from tare.core.case import Case
from tare.core.errors import UsageError
from tare.execution.compose import Composer
from tare.execution.inputs import file_names
from tare.execution.staging import compose_stages
from tare.plugins.backend_registry import backend


def job_script(loaded: Loaded, case: Case) -> str:
    """Return the job script of an attempt of `case`, in which ``{work}`` stands for its folder.

    Raises UsageError if its backend is no batch system.
    """
    plugin = backend(loaded.composer.site.platforms[case.platform].backend)
    if not isinstance(plugin, BatchBackend):
        raise UsageError(f"backend {plugin.name} queues nothing")
    return plugin.show(planned_task(loaded, case))


def planned_task(loaded: Loaded, case: Case) -> PlannedTask:
    """Return the task of an attempt of `case` as it would be submitted, with its input files."""
    from tare.app.provenance import fact_scripts  # only batch systems need what makes tasks
    from tare.execution.batch import make_task

    composer, work = loaded.composer, Path("{work}")
    staged = compose_stages(composer, case, work, is_cached=False)  # no key: nothing is to be restored
    task = make_task(composer, case, f"tare-{case.id}", work, loaded.plan.timeout_s, staged)
    stages = composer.workloads[case.workload].stages(case)
    inputs = {name: text for stage in stages for name, text in stage.files.items()}
    products = tuple(name for stage in stages[:-1] for name in stage.keeps)
    facts = fact_scripts(loaded)(task.platform)
    return PlannedTask(
        case=case, task=task, facts=facts, inputs=inputs, copies=_copies(composer, case), products=products
    )


def _copies(composer: Composer, case: Case) -> dict[str, Path]:
    """Return the files that are copied into the working folder, by name, without missing ones."""
    found: dict[str, Path] = {}
    for one in composer.copies(case):
        source = composer.source(one)
        names = file_names(source) if source.exists() else []
        found |= {posixpath.normpath(f"{one.name}/{name}"): source / name for name in names}
    return found


class FoundTrap(msgspec.Struct, frozen=True, kw_only=True):
    """What would break the runs of `n_cases` cases of a plan on one platform, or their numbers."""

    platform: str
    trap: str
    n_cases: int


def traps_of(loaded: Loaded) -> tuple[FoundTrap, ...]:
    """Return the traps into which the jobs of a plan would walk, in the order of its cases.

    Cases that differ in parameters alone get jobs of the same form, so one of them is looked at.
    """
    found: dict[tuple[object, ...], tuple[str, ...]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    names = dict.fromkeys(case.platform for case in loaded.plan.cases)
    plugins = {name: backend(loaded.composer.site.platforms[name].backend) for name in names}
    queued = {name: one for name, one in plugins.items() if isinstance(one, BatchBackend)}
    for case in loaded.plan.cases if queued else ():
        plugin = queued.get(case.platform)
        if plugin is None:
            continue
        is_wide = loaded.composer.widest(case).nodes > 1
        form = (case.platform, case.network, case.storage, case.workload, is_wide)
        if form not in found:
            found[form] = tuple(plugin.traps(planned_task(loaded, case)))
        counts.update((case.platform, trap) for trap in found[form])
    return tuple(
        FoundTrap(platform=platform, trap=trap, n_cases=n_cases)
        for (platform, trap), n_cases in counts.items()
    )
