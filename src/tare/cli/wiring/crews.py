"""Wire up what carries a plan out: the lab, the backends of its platforms, and their crews."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from tare.cli.wiring.containers import containers, read_nesting
from tare.cli.wiring.packets import counting_packets, gathering, lay_counter
from tare.cli.wiring.planning import Loaded
from tare.cli.wiring.provenance import ask_facts, fact_scripts, hostnames_of
from tare.cli.wiring.rehearsal import rehearse
from tare.collectors.facts import collect_facts
from tare.collectors.images import container_facts
from tare.collectors.interfaces import read_traffic
from tare.compose import Composer
from tare.errors import BackendError, UsageError
from tare.model.attempt import Attempt, Traffic
from tare.model.backend import Backend
from tare.model.campaign import Environment
from tare.model.case import Case
from tare.model.scheduler import NodeFiles
from tare.model.site import Platform, Site, SlurmOptions
from tare.records import read_records
from tare.runner.batch import BatchCrew, BatchSetup, make_task
from tare.runner.crew import Alone, Crew, Crews
from tare.runner.execution import Executor
from tare.runner.several import Several
from tare.runner.telemetry import Watching
from tare.store.campaign import store_environment
from tare.traffic import traffic_script

OnWait = Callable[[Attempt, str], None]
"""Is told what an attempt waits for, and of an empty reason when it goes on."""


class Manner(NamedTuple):
    """How runs are carried out, as options of `tare run` say.

    Of the runs that no batch system queues, at most `jobs` go on at a time. Their own folders on storage
    paths stay where it `keeps_storage`. Programs go before others of their node where it `boosts`, as far as
    the user may have that, and no batch system starts them. Before the first run it is looked whether the
    `rehearsed` cases can start.
    """

    jobs: int = 1
    keeps_storage: bool = False
    boosts: bool = True
    is_rehearsing: bool = False
    rehearsed: tuple[Case, ...] = ()


DEFAULT = Manner()

BOOSTED = "autogroup nice -20"
NOT_ALLOWED = "none: this user may not"


def boost_told(site: Site, manner: Manner) -> str:
    """Return whether programs go before others of their nodes; empty where each node must be asked.

    Nodes of the lab are this machine. Behind ssh it is the ranks that an MPI starts.
    """
    from tare.backends.priority import may_boost

    if not manner.boosts:
        return "off: --no-boost"
    if site.agent and site.lab is None:
        return ""
    return BOOSTED if may_boost() else NOT_ALLOWED


def boost_tries(site: Site, boost: str) -> int:
    """Return how often a rank tries to let its session go before others, by what `boost_told` says.

    In the lab ranks have no right of their own: they wait until it is done for them, with 0.1 s in between.
    """
    if boost == BOOSTED:
        return 30 if site.lab else 1
    return 0 if boost else 1


@contextmanager
def make_crew(
    folder: Path,
    loaded: Loaded,
    lab: Mapping[str, str] | None = None,
    manner: Manner = DEFAULT,
    on_wait: OnWait = lambda attempt, reason: None,
) -> Iterator[Crew]:
    """Bring up what the plan's runs need (the lab, where the site is one) and yield who carries them out.

    `lab` is the environment of one that is up already. `on_wait` is told what an attempt in a batch system
    waits for, and of an empty reason when it goes on.
    """
    platforms = loaded.composer.site.platforms
    used = dict.fromkeys(case.platform for case in loaded.plan.cases)
    makers: dict[str, Callable[[Path, Loaded, Mapping[str, str], Manner], AbstractContextManager[Crew]]]
    makers = {
        "process": _processes,
        "slurm": partial(_slurm, on_wait=on_wait),
        "kubernetes": partial(_kubernetes, on_wait=on_wait),
    }
    with ExitStack() as stack:
        env = lab
        if env is None:
            env = stack.enter_context(
                lab_env(loaded.composer.site, [platforms[name] for name in used], _hosts_of(loaded))
            )
        crews: dict[str, Crew] = {}
        for backend in dict.fromkeys(platforms[name].backend for name in used):
            if backend not in makers:
                raise UsageError(f"backend {backend!r} is not known; use one of {', '.join(makers)}")
            crews[backend] = stack.enter_context(makers[backend](folder, loaded, env, manner))
        yield Crews({name: crews[platforms[name].backend] for name in used})


def campaign_mark(folder: Path) -> str:
    """Return what the processes and jobs of the campaign in `folder` are known by."""
    return hashlib.blake2b(str(folder.resolve()).encode(), digest_size=6).hexdigest()


def require_independent(loaded: Loaded, manner: Manner) -> None:
    """Raise UsageError where runs at the same time, if there are to be any, would disturb each other.

    So they would where nodes are not machines of their own, or containers are on the first ones alone.
    """
    site = loaded.composer.site
    if manner.jobs == 1:
        return
    if site.shared_cores is not None:
        raise UsageError(
            f"the nodes of {site.name} share the cores of this machine: runs at the same time would measure "
            "each other; leave out --jobs"
        )
    for name in dict.fromkeys(case.platform for case in loaded.plan.cases):
        if site.platforms[name].has_node_containers:
            raise UsageError(
                f"platform {name} keeps a container on each node of one run at a time; leave out --jobs"
            )


@contextmanager
def _processes(folder: Path, loaded: Loaded, env: Mapping[str, str], manner: Manner) -> Iterator[Crew]:
    """Yield a crew that works here or over the site's agent, and leaves no process behind."""
    from tare.backends.own_storage import OwnStorage
    from tare.backends.packet_counting import PacketCounters
    from tare.backends.process import ProcessBackend
    from tare.backends.sessions import new_session
    from tare.backends.watching import Samplers
    from tare.collectors.sampler import program, raw_name, settle

    site = loaded.composer.site
    campaign = campaign_mark(folder)
    prefix = str(new_session(campaign))
    boost = boost_told(site, manner)
    everywhere = (
        [loaded.composer.on((node,)) for node in site.nodes] if manner.jobs > 1 else [loaded.composer]
    )
    hosts = sorted({host for on in everywhere for case in loaded.plan.cases for host in on.hosts(case)})
    with ProcessBackend(
        label=prefix, agent=site.agent, hosts=hosts, env=env, boosts=boost == BOOSTED
    ) as backend:
        backend.end_earlier(campaign)
        samplers = Samplers(
            program=program(),
            label=f"{prefix}sampler;",
            agent=backend.agent,
            env=env,
            on_start=backend.keep,
            raw_name=raw_name,
        )
        executor = Executor(
            folder=folder.resolve(),
            plan=loaded.plan,
            composer=loaded.composer,
            backend=backend,
            storage=OwnStorage(backend.ask, agent=() if site.lab else site.agent, keeps=manner.keeps_storage),
            counters=_counters(backend),
            environment=_environment(folder, loaded, backend, env, boost),
            boost_tries=boost_tries(site, boost),
            hostnames=partial(hostnames_of, folder),
            label=prefix,
            telemetry=counting_packets(
                loaded.plan.telemetry,
                Watching(loaded.plan.telemetry, samplers, settle),
                PacketCounters(
                    label=f"{prefix}packets;", agent=backend.agent, env=env, on_start=backend.keep
                ),
            ),
        )
        try:
            with closing(samplers), containers(folder.resolve(), loaded, env, prefix):
                if manner.rehearsed:
                    rehearse(folder, loaded, backend.ask, manner.rehearsed)
                backend.adopt()
                yield _crew_of(executor, manner.jobs)
        finally:
            backend.clean(prefix)


def _crew_of(executor: Executor, jobs: int) -> Crew:
    if jobs == 1:
        return Alone(executor.execute)
    composer = executor.composer
    return Several(
        executor.execute_on,
        composer.site.nodes,
        lambda case: composer.widest(case).nodes,
        jobs,
        end_all=lambda: executor.backend.clean(executor.label),
    )


@contextmanager
def _slurm(
    folder: Path, loaded: Loaded, env: Mapping[str, str], manner: Manner, on_wait: OnWait
) -> Iterator[Crew]:
    """Yield a crew that works through Slurm's queue."""
    from tare.backends.sessions import new_session
    from tare.backends.slurm.commands import Slurm
    from tare.backends.slurm.scheduler import slurm_scheduler
    from tare.collectors.sampler import settle

    site = loaded.composer.site
    used = {case.platform for case in loaded.plan.cases}
    logins = {
        platform.slurm.login if platform.slurm else None
        for name, platform in site.platforms.items()
        if name in used and platform.backend == "slurm"
    }
    if len(logins) > 1:
        raise UsageError("platforms of one study name different Slurm login hosts; give them the same one")
    slurm = Slurm(site.agent, logins.pop(), {**os.environ, **env})
    scheduler = slurm_scheduler(slurm, fact_scripts(loaded))
    setup = BatchSetup(
        folder=folder.resolve(),
        plan=loaded.plan,
        composer=loaded.composer,
        scheduler=scheduler,
        campaign=campaign_mark(folder),
        traffic=_traffic,
        environment=lambda case, landing: _record(folder, loaded.composer, case, landing.before),
        hostnames=partial(hostnames_of, folder),
        sampler=_lay_sampler(folder),
        settle=settle,
        counter=lay_counter(folder, loaded.plan.telemetry),
        gather=gathering("slurm"),
        label=str(new_session(campaign_mark(folder))),
        keeps_storage=manner.keeps_storage,
        on_wait=on_wait,
    )
    yield BatchCrew(setup)
    with suppress(BackendError):  # what cannot be asked now is told by `tare clean`
        scheduler.close()


def _lay_sampler(folder: Path) -> Path:
    """Put the sampler into the campaign's folder, which a batch system brings to its nodes."""
    from tare.collectors.sampler import program

    sampler = folder.resolve() / "telemetry-sampler.py"
    sampler.write_text(program(), encoding="utf-8")
    return sampler


@contextmanager
def _kubernetes(
    folder: Path, loaded: Loaded, env: Mapping[str, str], manner: Manner, on_wait: OnWait
) -> Iterator[Crew]:
    """Yield a crew that works through a cluster, and leaves nothing there."""
    from tare.backends.kubernetes.cluster import Cluster
    from tare.backends.kubernetes.scheduler import KubernetesScheduler
    from tare.backends.sessions import new_session
    from tare.cli.wiring.pods import options_of
    from tare.collectors.sampler import settle

    campaign = campaign_mark(folder)
    scheduler = KubernetesScheduler(Cluster.connect(options_of(loaded)), campaign, fact_scripts(loaded))
    setup = BatchSetup(
        folder=folder.resolve(),
        plan=loaded.plan,
        composer=loaded.composer,
        scheduler=scheduler,
        campaign=campaign,
        traffic=_traffic,
        environment=lambda case, landing: _record(
            folder, loaded.composer, case, landing.before, told=landing.facts
        ),
        sampler=_lay_sampler(folder),
        settle=settle,
        counter=lay_counter(folder, loaded.plan.telemetry),
        gather=gathering("kubernetes"),
        label=str(new_session(campaign)),
        keeps_storage=manner.keeps_storage,
        on_wait=on_wait,
    )
    try:
        yield BatchCrew(setup)
    finally:
        scheduler.close()


def job_script(loaded: Loaded, case: Case) -> str:
    """Return the batch script or the manifests of an attempt of `case`; ``{work}`` stands for its folder."""
    if loaded.composer.site.platforms[case.platform].kubernetes is not None:
        from tare.cli.wiring.pods import show_manifests

        return show_manifests(loaded, case)
    from tare.backends.slurm.script import render

    task = make_task(loaded.composer, case, f"tare-{case.id}", Path("{work}"), loaded.plan.timeout_s)
    return render([task], task.platform.slurm or SlurmOptions(), fact_scripts(loaded)(task.platform))


@contextmanager
def lab_env(site: Site, platforms: Sequence[Platform], hosts: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Yield the environment through which the agent finds the lab: the one that is up, or one of our own.

    It gains what `platforms` need of it; docker on `hosts` alone.
    """
    spec = site.lab
    if spec is None:
        yield {}
        return
    from tare import lab

    with ExitStack() as stack:
        running = lab.find()
        if running is None or running.spec != spec:
            running = stack.enter_context(lab.start(spec, owned=True))
        if any(platform.backend == "slurm" for platform in platforms):
            running.add_slurm()
        if any(platform.runtime == "podman" for platform in platforms):
            running.add_containers()
        if dockers := [platform.container for platform in platforms if platform.runtime == "docker"]:
            running.add_docker(hosts, [options.source for options in dockers if options])
        yield running.env


def _hosts_of(loaded: Loaded) -> list[str]:
    """Return where docker starts ranks: the hosts of its cases, or any node where Slurm chooses them."""
    composer = loaded.composer
    cases = [case for case in loaded.plan.cases if composer.site.platforms[case.platform].runtime == "docker"]
    return sorted({host for case in cases for host in composer.hosts(case) or composer.site.nodes})


def _traffic(files: NodeFiles) -> Traffic:
    return {node: read_traffic(found) for node, found in files.items()}


def _counters(backend: Backend) -> Callable[[Sequence[str | None]], Traffic]:
    def counters(hosts: Sequence[str | None]) -> Traffic:
        said = backend.ask(hosts, traffic_script())
        return _traffic({host or "localhost": read_records(text) for host, text in said.items()})

    return counters


def _environment(
    folder: Path, loaded: Loaded, backend: Backend, env: Mapping[str, str], boost: str
) -> Callable[[Composer, Case], str]:
    """Return what records the facts of a case's hosts; each is asked once a session for each platform."""
    one_at_a_time = Lock()
    known: dict[tuple[tuple[str, ...], str], str] = {}
    answers: dict[tuple[str, str], Mapping[str, str]] = {}

    def environment(composer: Composer, case: Case) -> str:
        with one_at_a_time:
            return look(composer, case)

    def look(composer: Composer, case: Case) -> str:
        hosts = composer.hosts(case)
        key = (hosts, case.platform)
        if key not in known:
            here: list[str | None] = list(hosts) if composer.site.agent else [None]
            new = [host for host in here if (host or hosts[0], case.platform) not in answers]
            for host, said in ask_facts(backend, new, loaded, case.platform).items():
                answers[host or hosts[0], case.platform] = said
            files = {host or hosts[0]: answers[host or hosts[0], case.platform] for host in here}
            nesting = read_nesting(composer, case.platform, here[0], backend, env)
            known[key] = _record(folder, composer, case, files, nesting, boost=boost)
        return known[key]

    return environment


def _record(
    folder: Path,
    composer: Composer,
    case: Case,
    files: NodeFiles,
    nesting: Mapping[str, str] | None = None,
    told: Mapping[str, Mapping[str, str]] | None = None,
    boost: str = "none: a batch system starts the ranks",
) -> str:
    """Record the facts of a case's nodes, of its platform and of its containers; return their hash.

    `told` are facts that somebody else knows of the nodes, such as the cluster that they are in; `boost` is
    whether programs go before others there, which the node itself knows where it is empty.
    """
    facts: Environment = {node: collect_facts(found) for node, found in files.items()}
    for name, more in (told or {}).items():
        facts[name] = {**facts.get(name, {}), **more}
    platform = composer.site.platforms[case.platform]
    for node in facts.values():
        may = node.pop("priority.may_boost", "no")
        node["priority.boost"] = boost or (BOOSTED if may == "yes" else NOT_ALLOWED)
        node["platform.launcher"] = platform.launcher
        node["platform.runtime"] = platform.runtime
        node["platform.prefix"] = platform.prefix or ""
        node |= nesting if nesting is not None else container_facts(platform, {})
    return store_environment(folder, facts)
