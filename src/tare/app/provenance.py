"""Ask nodes for facts about themselves, and about the programs that a plan runs on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tare.app.planning import Loaded
from tare.core.attempt import Attempt
from tare.core.case import Case
from tare.core.job import Backend
from tare.core.site import Platform
from tare.plugins.collectors.facts import facts_script
from tare.plugins.collectors.source import Subject
from tare.probes.records import read_records
from tare.probes.software import asking, underlying
from tare.storage.campaign import read_environment


def subject_of(loaded: Loaded, name: str) -> Subject:
    """Return what the plan runs on nodes through the platform `name`: its MPI, programs and libraries.

    A host cannot tell what is inside a container. So the programs are left out if they run in containers, and
    all but the root file system is left out if the platform keeps a container on each node.
    """
    composer = loaded.composer
    platform = composer.site.platforms[name]
    rootfs = (platform.container.rootfs if platform.container else None) or ""
    if platform.has_node_containers:
        return Subject(rootfs=rootfs)
    programs: dict[str, None] = {}
    starter = ""
    for case in (case for case in loaded.plan.cases if case.platform == name):
        for stage, invocation in composer.compose(case):
            if platform.container is None and not any(character in stage.argv[0] for character in "{ \t\n"):
                programs[stage.argv[0]] = None
            if stage.is_mpi and platform.launcher != "none":
                starter = starter or underlying(invocation.argv)[0]
    return Subject(
        prefix=platform.prefix or "",
        starter=starter,
        programs=tuple(programs),
        path=":".join(platform.path),
        library_path=":".join(_library_folders(platform)),
        rootfs=rootfs.rstrip("/"),
    )


def fact_scripts(loaded: Loaded) -> Callable[[Platform], str]:
    """Return a function that builds the script which asks a node for facts about itself and a platform."""

    def script(platform: Platform) -> str:
        platforms = loaded.composer.site.platforms
        name = next((name for name, one in platforms.items() if one == platform), None)
        return facts_script(subject_of(loaded, name) if name else Subject())

    return script


def hostnames_of(folder: Path, attempt: Attempt) -> Collection[str]:
    """Return the host names of the hosts of `attempt`; empty unless all of them are known."""
    if attempt.environment is None:
        return ()
    return _hostnames(folder, attempt.environment, tuple(attempt.hosts))


@lru_cache(maxsize=256)  # each attempt asks, and an environment has its hash for a name: it never changes
def _hostnames(folder: Path, environment: str, hosts: tuple[str, ...]) -> tuple[str, ...]:
    facts = read_environment(folder, environment)
    names = tuple(facts.get(host, {}).get("hostname", "") for host in hosts)
    return names if all(names) else ()


def ask_facts(
    backend: Backend, hosts: Sequence[str | None], loaded: Loaded, case: Case
) -> Mapping[str | None, Mapping[str, str]]:
    """Return the answer of each host about itself, the platform of `case`, and its software.

    Raises BackendError.
    """
    script = asking(facts_script(subject_of(loaded, case.platform)), loaded.composer.software(case))
    return {host: read_records(response) for host, response in backend.ask(hosts, script).items()}


def _library_folders(platform: Platform) -> list[str]:
    own = platform.env.get("LD_LIBRARY_PATH", "").split(":")
    return [folder for folder in (*own, f"{platform.prefix}/lib" if platform.prefix else "") if folder]
