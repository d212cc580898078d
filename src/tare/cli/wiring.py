"""Wire the parts together: from a study file to a plan, and to what carries it out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tare import config, plugins
from tare.compose import Composer
from tare.errors import UsageError
from tare.model.attempt import Traffic
from tare.model.backend import Backend
from tare.model.campaign import Environment
from tare.model.case import Case
from tare.model.plan import Plan
from tare.model.study import Study
from tare.model.workload import InlineDefinition, Workload
from tare.plan import make_plan

if TYPE_CHECKING:
    from tare.runner.execution import Executor
    from tare.runner.loop import Rule

STUDY = "study.yaml"
SITE = "site.yaml"


class Loaded(NamedTuple):
    """A study that was read and planned, and the texts that it was read from, by their frozen names."""

    study: Study
    plan: Plan
    composer: Composer
    texts: dict[str, str]


def load(path: Path, n_blocks: int | None = None) -> Loaded:
    """Read and plan the study at `path`, or the frozen one of the campaign folder `path`.

    `n_blocks` overrides the study's repeats. Raises FileFaults with every fault of its files.
    """
    study_path, site_path = path, None
    if path.is_dir():
        study_path, site_path = path / STUDY, path / SITE
        if not study_path.is_file():
            raise UsageError(f"{path}: neither a study file nor a campaign folder; it holds no {STUDY}")
    known: Mapping[str, Workload] = {}

    def catalogue(inline: Sequence[InlineDefinition]) -> Mapping[str, Workload]:
        nonlocal known
        known = plugins.workloads(inline)
        return known

    study, source = config.load_study(study_path, catalogue, site_path)
    if n_blocks is not None:
        study = msgspec.structs.replace(study, repeats=study.repeats.exactly(n_blocks))
    site = source.site
    if site.lab is not None:
        from tare import lab

        site = msgspec.structs.replace(site, agent=(str(lab.AGENT),))
    composer = Composer(site, known, plugins.launcher, plugins.runtime)
    texts = {STUDY: study_path.read_text(encoding="utf-8-sig"), SITE: source.text}
    return Loaded(study, make_plan(study, site, known), composer, texts)


@contextmanager
def executor(folder: Path, loaded: Loaded) -> Iterator[Executor]:
    """Bring up what the plan's runs need (the lab, where the site is one) and yield what runs them."""
    from tare.backends import marks
    from tare.backends.process import ProcessBackend
    from tare.runner.execution import Executor

    site = loaded.composer.site
    campaign = hashlib.blake2b(str(folder.resolve()).encode(), digest_size=6).hexdigest()
    prefix = marks.new_prefix(campaign)
    hosts = sorted({host for case in loaded.plan.cases for host in loaded.composer.hosts(case)})
    with (
        _lab_env(loaded) as env,
        ProcessBackend(label=prefix, agent=site.agent, hosts=hosts, env=env) as backend,
    ):
        backend.clean(f"{campaign}:")
        try:
            yield Executor(
                folder=folder.resolve(),
                plan=loaded.plan,
                composer=loaded.composer,
                backend=backend,
                counters=_counters(backend),
                environment=_environment(folder, loaded.composer, backend),
                label=prefix,
            )
        finally:
            backend.clean(prefix)


def stopping_rule(plan: Plan) -> Rule | None:
    """Return what says which cases go on beyond the least number of blocks; None where all do."""
    if plan.repeats.until is None:
        return None
    from tare.answers.stopping import StoppingRule

    return StoppingRule(plan)


@contextmanager
def _lab_env(loaded: Loaded) -> Iterator[dict[str, str]]:
    """Yield the environment through which the agent finds the lab: the one that is up, or one of our own."""
    spec = loaded.composer.site.lab
    if spec is None:
        yield {}
        return
    from tare import lab

    running = lab.find()
    if running is not None and running.spec == spec:
        yield running.env
        return
    with lab.start(spec, owned=True) as own:
        yield own.env


def _counters(backend: Backend) -> Callable[[Sequence[str | None]], Traffic]:
    from tare.collectors.interfaces import PATH, read_counters

    def counters(hosts: Sequence[str | None]) -> Traffic:
        texts = backend.read(hosts, [PATH])
        return {host or "localhost": read_counters(found.get(PATH, "")) for host, found in texts.items()}

    return counters


def _environment(folder: Path, composer: Composer, backend: Backend) -> Callable[[Case], str]:
    """Return what records the facts of a case's hosts; each set of hosts is asked once a session."""
    from tare.collectors.facts import SOURCES, collect_facts
    from tare.store.campaign import store_environment

    known: dict[tuple[tuple[str, ...], str], str] = {}

    def environment(case: Case) -> str:
        hosts = composer.hosts(case)
        key = (hosts, case.platform)
        if key not in known:
            asked: list[str | None] = list(hosts) if composer.site.agent else [None]
            texts = backend.read(asked, list(SOURCES))
            facts: Environment = {host or hosts[0]: collect_facts(found) for host, found in texts.items()}
            platform = composer.site.platforms[case.platform]
            for host in facts.values():
                host["platform.launcher"] = platform.launcher
                host["platform.runtime"] = platform.runtime
                host["platform.prefix"] = platform.prefix or ""
            known[key] = store_environment(folder, facts)
        return known[key]

    return environment
