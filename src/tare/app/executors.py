"""Create the executors that run a plan: start the lab, and open the backends of its platforms."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from tare.app.containers import containers, read_nesting
from tare.app.inputs import input_facts
from tare.app.planning import Loaded
from tare.app.provenance import ask_facts, fact_scripts, hostnames_of
from tare.app.rehearsal import rehearse
from tare.app.run_options import BOOSTED, DEFAULT, NOT_ALLOWED, RunOptions, boost_tries, describe_boost
from tare.app.telemetry import open_telemetry, write_counter, write_sampler
from tare.core.attempt import Attempt, Traffic
from tare.core.backend_plugin import BackendPlugin, BatchBackend, DirectBackend, Session
from tare.core.campaign import Environment
from tare.core.case import Case
from tare.core.errors import CampaignError, UnreadableFile, UsageError
from tare.core.job import Backend
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import NodeFiles
from tare.core.site import Platform, Site
from tare.core.software import Layers
from tare.execution.attempt_runner import AttemptRunner
from tare.execution.batch import BatchExecutor, BatchSetup
from tare.execution.compose import Composer
from tare.execution.concurrent import ConcurrentExecutor
from tare.execution.executor import BackendExecutors, Executor, SerialExecutor
from tare.plugins.backend_registry import backend
from tare.plugins.collectors.facts import collect_facts
from tare.plugins.collectors.images import container_facts
from tare.plugins.collectors.interfaces import read_own_records, read_traffic
from tare.probes.records import read_records
from tare.probes.traffic import traffic_script
from tare.storage.campaign import JOURNAL, file_numbers, store_environment

_MOST_READ = 4096  # bytes of a journal's first line; a session's event has some hundred

OnWait = Callable[[Attempt, str], None]
"""Called with the reason why an attempt waits, and with an empty reason when it continues."""


@contextmanager
def make_executor(
    folder: Path,
    loaded: Loaded,
    lab: Mapping[str, str] | None = None,
    options: RunOptions = DEFAULT,
    on_wait: OnWait = lambda attempt, reason: None,
) -> Iterator[Executor]:
    """Start what the plan's runs need, such as the lab, and yield the executor that runs them.

    `lab` is the environment of a lab that is already up. `on_wait` is called with the reason why an attempt
    in a batch system waits, and with an empty reason when it continues.
    """
    platforms = loaded.composer.site.platforms
    used = dict.fromkeys(case.platform for case in loaded.plan.cases)
    with ExitStack() as stack:
        env = lab
        if env is None:
            env = stack.enter_context(
                lab_env(loaded.composer.site, [platforms[name] for name in used], hosts_of(loaded))
            )
        executors: dict[str, Executor] = {}
        for name in dict.fromkeys(platforms[name].backend for name in used):
            executors[name] = stack.enter_context(
                _executor(backend(name), folder, loaded, env, options, on_wait)
            )
        yield BackendExecutors(executors, lambda case: platforms[case.platform].backend)


def campaign_hash(folder: Path) -> str:
    """Return the hash that identifies the processes and jobs of the campaign in `folder`.

    It is made of the folder and of the beginning of the journal, which has the time of the first session:
    elsewhere, another campaign may have a folder of the same name, and jobs in the same cluster.
    """
    made = hashlib.blake2b(os.fsencode(folder.resolve()), digest_size=6)
    try:
        with SafeFolder(folder, JOURNAL).reader() as journal:
            made.update(b"\0" + journal.readline(_MOST_READ))
    except UnreadableFile as error:  # with another hash, nothing of the campaign would be found again
        raise CampaignError.from_os(folder, error) from error
    except OSError:
        pass
    return made.hexdigest()


def require_independent(loaded: Loaded, options: RunOptions) -> None:
    """Raise UsageError if several runs at a time are asked for and would disturb each other.

    This is so if the nodes share one machine, or if a platform keeps one container on each node.
    """
    site = loaded.composer.site
    if options.jobs == 1:
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


def _executor(
    plugin: BackendPlugin[Any],
    folder: Path,
    loaded: Loaded,
    env: Mapping[str, str],
    options: RunOptions,
    on_wait: OnWait,
) -> AbstractContextManager[Executor]:
    """Return a context that yields the executor for the platforms of one backend."""
    if isinstance(plugin, BatchBackend):
        return _queued(plugin, folder, loaded, env, options, on_wait)
    if isinstance(plugin, DirectBackend):
        return _direct(plugin, folder, loaded, env, options)
    raise UsageError(f"backend {plugin.name} is no BatchBackend or DirectBackend; mend its package")


def _session(plugin: BackendPlugin[Any], folder: Path, loaded: Loaded, env: Mapping[str, str]) -> Session:
    """Return the description of this session for `plugin`, the backend."""
    from tare.plugins.backends.ownership.sessions import new_session

    site = loaded.composer.site
    used = dict.fromkeys(case.platform for case in loaded.plan.cases)
    campaign = campaign_hash(folder)
    return Session(
        folder=folder.resolve(),
        campaign=campaign,
        label=str(new_session(campaign)),
        files=file_numbers(folder),
        site=site,
        platforms={
            name: site.platforms[name] for name in used if site.platforms[name].backend == plugin.name
        },
        env=env,
        facts=fact_scripts(loaded),
    )


@contextmanager
def _direct(
    plugin: DirectBackend[Any], folder: Path, loaded: Loaded, env: Mapping[str, str], options: RunOptions
) -> Iterator[Executor]:
    """Yield an executor that runs attempts on hosts that Tare chooses, and ends all their processes."""
    from tare.plugins.backends.hosts.own_storage import OwnStorage

    site = loaded.composer.site
    session = _session(plugin, folder, loaded, env)
    prefix = session.label
    boost = describe_boost(site, options)
    everywhere = (
        [loaded.composer.on((node,)) for node in site.nodes] if options.jobs > 1 else [loaded.composer]
    )
    hosts = sorted({host for on in everywhere for case in loaded.plan.cases for host in on.hosts(case)})
    session = msgspec.structs.replace(session, hosts=tuple(hosts), boosts=boost == BOOSTED)
    with plugin.open(session) as backend:
        backend.end_earlier(session.campaign)
        try:
            with (
                open_telemetry(loaded.plan.telemetry, backend, prefix, env, plugin.packet_cure) as telemetry,
                containers(folder.resolve(), loaded, env, prefix),
            ):
                if options.rehearsed:
                    rehearse(folder, loaded, backend.ask, options.rehearsed, options.note)
                backend.adopt()
                runner = AttemptRunner(
                    folder=folder.resolve(),
                    plan=loaded.plan,
                    composer=loaded.composer,
                    backend=backend,
                    storage=OwnStorage(
                        backend.ask, agent=() if site.lab else site.agent, keeps=options.keeps_storage
                    ),
                    counters=_counters(backend),
                    environment=_environment(folder, loaded, backend, env, boost),
                    boost_tries=boost_tries(site, boost),
                    hostnames=partial(hostnames_of, folder),
                    label=prefix,
                    telemetry=telemetry,
                )
                yield _executor_of(runner, options.jobs)
        finally:
            backend.clean(prefix)


def _executor_of(runner: AttemptRunner, jobs: int) -> Executor:
    if jobs == 1:
        return SerialExecutor(runner.execute)
    composer = runner.composer
    return ConcurrentExecutor(
        runner.execute_on,
        composer.site.nodes,
        lambda case: composer.widest(case).nodes,
        jobs,
        end_all=lambda: runner.backend.clean(runner.label),
    )


@contextmanager
def _queued(
    plugin: BatchBackend[Any],
    folder: Path,
    loaded: Loaded,
    env: Mapping[str, str],
    options: RunOptions,
    on_wait: OnWait,
) -> Iterator[Executor]:
    """Yield an executor that runs attempts as jobs of a batch system."""
    from tare.plugins.collectors import packets
    from tare.plugins.collectors.sampler import settle

    session = _session(plugin, folder, loaded, env)
    has_hostnames = not any(platform.options.pods for platform in session.platforms.values())
    with plugin.open(session) as scheduler:
        yield BatchExecutor(
            BatchSetup(
                folder=session.folder,
                plan=loaded.plan,
                composer=loaded.composer,
                scheduler=scheduler,
                campaign=session.campaign,
                traffic=_traffic,
                environment=lambda case, job_result: _record(
                    folder, loaded.composer, case, job_result.before, more_facts=job_result.facts
                ),
                hostnames=partial(hostnames_of, folder) if has_hostnames else lambda attempt: (),
                sampler=write_sampler(folder),
                settle=settle,
                counter=write_counter(folder, loaded.plan.telemetry),
                gather=partial(packets.gather, cure=plugin.packet_cure),
                label=session.label,
                files=session.files,
                keeps_storage=options.keeps_storage,
                on_wait=on_wait,
            )
        )


@contextmanager
def lab_env(site: Site, platforms: Sequence[Platform], hosts: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Yield the environment variables by which the agent finds the lab; empty if the site is no lab.

    A lab that is up and matches the site is used. Otherwise one is started, and ended afterwards. Services
    that `platforms` need are added to it; docker only on `hosts`.
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
        more: dict[str, str] = {}
        for name in dict.fromkeys(platform.backend for platform in platforms):
            more |= backend(name).set_up_lab(running)
        if any(platform.runtime == "podman" for platform in platforms):
            running.add_service("containers")
        if dockers := [platform.container for platform in platforms if platform.runtime == "docker"]:
            running.add_docker(hosts, [options.source for options in dockers if options])
        yield {**running.env, **more}


def hosts_of(loaded: Loaded) -> list[str]:
    """Return the hosts on which docker may start ranks: those of its cases, all if a batch system chooses."""
    composer = loaded.composer
    cases = [case for case in loaded.plan.cases if composer.site.platforms[case.platform].runtime == "docker"]
    return sorted({host for case in cases for host in composer.hosts(case) or composer.site.nodes})


def _traffic(files: NodeFiles) -> Traffic:
    return {node: read_traffic(found) for node, found in files.items()}


def _counters(backend: Backend) -> Callable[[Sequence[str | None]], Traffic]:
    def counters(hosts: Sequence[str | None]) -> Traffic:
        own = read_own_records() if None in hosts else None
        found: dict[str | None, Mapping[str, str]] = {} if own is None else {None: own}
        if asked := [host for host in hosts if host not in found]:
            response = backend.ask(asked, traffic_script())
            found |= {host: read_records(text) for host, text in response.items()}
        return _traffic({host or "localhost": found[host] for host in hosts if host in found})

    return counters


def _environment(
    folder: Path, loaded: Loaded, backend: Backend, env: Mapping[str, str], boost: str
) -> Callable[[Composer, Case], str]:
    """Return a function that records the facts of a case's hosts and returns their hash.

    Each host is asked once in a session for each platform and its software.
    """
    one_at_a_time = Lock()
    known: dict[tuple[object, ...], str] = {}
    responses: dict[tuple[str, tuple[str, Layers]], Mapping[str, str]] = {}

    def environment(composer: Composer, case: Case) -> str:
        with one_at_a_time:
            return collect(composer, case)

    def collect(composer: Composer, case: Case) -> str:
        hosts = composer.hosts(case)
        subject = (case.platform, composer.software(case))
        key = (hosts, subject, *input_facts(composer, case).items())
        if key not in known:
            here = composer.reached_hosts(case)
            new = [host for host in here if (host or hosts[0], subject) not in responses]
            for host, response in ask_facts(backend, new, loaded, case).items():
                responses[host or hosts[0], subject] = response
            files = {host or hosts[0]: responses[host or hosts[0], subject] for host in here}
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
    more_facts: Mapping[str, Mapping[str, str]] | None = None,
    boost: str = "none: a batch system starts the ranks",
) -> str:
    """Record the facts of a case's nodes, platform and containers; return their hash.

    `files` are the responses of the nodes. `more_facts` are facts about nodes from another source, such as
    their cluster. `boost` says whether programs have priority on the nodes; if it is empty, the node's own
    response counts.
    """
    facts: Environment = {node: collect_facts(found) for node, found in files.items()}
    for name, more in (more_facts or {}).items():
        facts[name] = {**facts.get(name, {}), **more}
    platform = composer.site.platforms[case.platform]
    for node in facts.values():
        may = node.pop("priority.may_boost", "no")
        node["priority.boost"] = boost or (BOOSTED if may == "yes" else NOT_ALLOWED)
        node["platform.launcher"] = platform.launcher
        node["platform.runtime"] = platform.runtime
        node["platform.prefix"] = platform.prefix or ""
        node |= input_facts(composer, case)
        node |= nesting if nesting is not None else container_facts(platform, {})
    return store_environment(folder, facts)
