"""Start and remove the containers of a plan's platforms.

Some platforms keep one container on each node during the session. Containers that ended sessions left are
removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tare.app.planning import Loaded
from tare.core.job import Backend
from tare.core.launch import Engine
from tare.execution.compose import Composer
from tare.plugins.backends.hosts.containers import ContainerCluster, Host, digest, sweep
from tare.plugins.backends.ownership.sessions import is_gone
from tare.plugins.collectors.images import container_facts, sources_of


@contextmanager
def containers(folder: Path, loaded: Loaded, env: Mapping[str, str], label: str) -> Iterator[None]:
    """Keep the containers that the plan's platforms need on each node while entered.

    First and last, remove the containers of this campaign that are left from this or an ended session.
    `label` is the label of this session.
    """
    composer = loaded.composer
    used = dict.fromkeys(case.platform for case in loaded.plan.cases)
    campaign, _, _ = label.partition(":")

    def is_of_campaign(other: str) -> bool:
        """Return whether a container belongs to this session or to an earlier one that has ended."""
        return other.startswith(label) or is_gone(other, campaign)

    engines = {name: engine for name in used if (engine := _own_engine(composer, name)) is not None}
    with ExitStack() as stack:
        for (
            name,
            engine,
        ) in engines.items():  # before any starts: a sweep finds those of all platforms
            platform, hosts = composer.site.platforms[name], _hosts(loaded, name)
            sweep(engine, platform, hosts.values(), env, is_of_campaign)
            stack.callback(sweep, engine, platform, hosts.values(), env, is_of_campaign)
        for name, engine in engines.items():
            platform = composer.site.platforms[name]
            if platform.has_node_containers:
                cluster = ContainerCluster(
                    engine=engine,
                    platform=platform,
                    prefix=composer.container_prefix(name),
                    hosts=_hosts(loaded, name),
                    binds=_shared_paths(folder, loaded, engine, env),
                    label=f"{label}containers;",
                    env=env,
                    folder=str(folder),
                )
                stack.enter_context(cluster)
        yield


def _own_engine(composer: Composer, name: str) -> Engine | None:
    """Return the engine whose containers Tare starts itself for the platform `name`; None if it has none."""
    platform = composer.site.platforms[name]
    engine = composer.runtime(platform.runtime)
    return engine if isinstance(engine, Engine) and not platform.is_queued else None


def read_nesting(
    composer: Composer, name: str, host: str | None, backend: Backend, env: Mapping[str, str]
) -> dict[str, str]:
    """Return the facts of the containers of the platform `name`, such as their image, as found on `host`."""
    platform = composer.site.platforms[name]
    if platform.container is None:
        return {}
    sources = sources_of(platform)
    texts = backend.read([host], sources)[host] if sources else {}
    engine = composer.runtime(platform.runtime)
    image = ""
    if isinstance(engine, Engine):
        image = digest(engine, platform, Host(host, composer.site.agent), env)
    return container_facts(platform, texts, image)


def _hosts(loaded: Loaded, platform: str) -> dict[str, Host]:
    """Return the hosts on which the cases of a platform start ranks, by the names that the MPI uses."""
    composer = loaded.composer
    names = sorted(
        {host for case in loaded.plan.cases if case.platform == platform for host in composer.hosts(case)}
    )
    agent = composer.site.agent
    return {name: Host(name if agent else None, agent) for name in names}


def _shared_paths(folder: Path, loaded: Loaded, engine: Engine, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths that every container must see: evidence, storage, and the agent for other hosts."""
    site = loaded.composer.site
    storage = [site.storage[case.storage] for case in loaded.plan.cases if case.storage is not None]
    agents = [word for word in site.agent[:1] if word.startswith("/")]
    lab = [env["TARE_LAB_DIR"]] if "TARE_LAB_DIR" in env else []
    return tuple(dict.fromkeys([str(folder), str(engine.agent), *agents, *lab, *storage]))
