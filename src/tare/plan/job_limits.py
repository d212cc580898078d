"""Check that a batch system admits the jobs of a plan: their nodes and their time limits. Pure.

A queue refuses a larger job, or lets it wait for ever (slurm.conf(5), EnforcePartLimits).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import Fault
from tare.core.plan import Plan
from tare.core.site import Site
from tare.core.study import Origin, Study
from tare.plan.combinations import all_factors
from tare.plan.layouts import LAYOUT_SETTINGS


def job_faults(plan: Plan, study: Study, site: Site, begun: Collection[str] = ()) -> list[Fault]:
    """Return the faults of the cases that no job of their platform can run, each once.

    Cases that are `begun`, by their ids, are left as they are: their campaign goes on by its own rules.
    """
    every = plan.with_profiled_runs.cases
    new = [case for case in every if case.id not in begun]
    found = [*_too_large(new, study, site), *_too_long(new, every, study, site)]
    return list(dict.fromkeys(found))


def _too_large(cases: Sequence[Case], study: Study, site: Site) -> Iterator[Fault]:
    limits = {name: platform.options.max_nodes for name, platform in site.platforms.items()}
    if not any(limits.values()):
        return
    for case in cases:
        most, n_nodes = limits[case.platform], case.layout.nodes
        if most and n_nodes > most:
            message = (
                f"{case.workload} on {count(n_nodes, 'node')}, and a job of platform {case.platform} at site "
                f"{site.name} has {most} at most (max_nodes); use {most} or fewer, or leave these cases out: "
                f"'exclude: {{platform: {case.platform}, nodes: {n_nodes}}}'"
            )
            yield study.fault(_origin_of_size(study, case), message)


def _too_long(new: Sequence[Case], every: Sequence[Case], study: Study, site: Site) -> Iterator[Fault]:
    """Yield the platforms of `new` cases whose jobs would have a longer time limit than the queue takes.

    A packed job has the runs of a block, and these are of `every` case.
    """
    n_cases = Counter([case.platform for case in every])
    used = {name: site.platforms[name].options for name in n_cases}
    for name in dict.fromkeys([case.platform for case in new]):
        options = used[name]
        alike = (n for other, n in n_cases.items() if used[other].asks_like(options))
        n_runs = sum(alike) if options.is_packed else 1
        minutes, most = options.job_minutes([study.timeout_s] * n_runs), options.max_minutes
        if not minutes or not most or minutes <= most:
            continue
        what = f"a job of the {count(n_runs, 'run')} of a block" if options.is_packed else "a job"
        each_s = int(study.timeout_s - (minutes - most) * 60 / n_runs)
        cure = f"write 'timeout: {each_s} s' or less" if each_s > 0 else "use fewer cases"
        if options.is_packed:
            cure += ", or 'mode: job' in the site"
        message = (
            f"with time-outs of {study.timeout_s:.15g} s, {what} on platform {name} has a time limit of "
            f"{minutes} min, and site {site.name} takes {most} at most (max_minutes); {cure}"
        )
        yield study.fault(study.origins.get("timeout") or study.origins.get("site"), message)


def _origin_of_size(study: Study, case: Case) -> Origin | None:
    """Return the place in the study that gives a case its nodes, or else its platform or workload."""
    levels = [*(level for factor in all_factors(study) for level in factor.levels), *study.cases]
    for name in (*LAYOUT_SETTINGS, "platform", "workload"):
        for level in levels:
            if name in level.settings and level.settings[name] == case.setting(name) and level.origin:
                return level.origin
        if name in study.origins:
            return study.origins[name]
    return study.origins.get("site")
