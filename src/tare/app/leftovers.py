"""Find what ended campaigns left on this machine, in queues and in clusters, and end or remove it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tare import config, lab
from tare.app.executors import campaign_hash
from tare.core.backend_plugin import BackendPlugin, Surroundings
from tare.core.backend_plugin import Leftover as QueuedLeftover
from tare.core.containers import ContainerOptions
from tare.core.errors import BackendError, UsageError
from tare.core.launch import Engine
from tare.core.site import Platform
from tare.plugins import registry
from tare.plugins.backend_registry import backend, backend_names
from tare.plugins.backends.hosts import own_storage, staged
from tare.plugins.backends.hosts.containers import Host, find_labelled, sweep
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.sessions import Fate, SessionFate, parse
from tare.plugins.backends.process import control_groups
from tare.storage.campaign import JOURNAL
from tare.storage.journal import hold_of
from tare.terminal.output import echo


class Leftover(NamedTuple):
    """Something that a session of Tare left: a process, container, job or folder.

    `verb` is what is done to it, such as remove. `what` describes it. `verdict` is the fate of the session
    that owns it. `end` does it, and returns whether that succeeded. `record` is the file that names it,
    where it is on hosts that may be gone for good.
    """

    verb: str
    what: str
    verdict: SessionFate
    end: Callable[[], bool]
    record: Path | None = None


Judge = Callable[[str, int | None], SessionFate]


def find_leftovers(judge_session: Judge, site: str | None) -> Iterator[Leftover]:
    """Yield all leftovers, kind by kind.

    A kind is looked for only after the kinds before it were ended: containers vanish with their processes.
    """
    yield from _processes(judge_session)
    yield from _groups(judge_session)
    yield from _of_backends(judge_session, site)
    yield from _containers(judge_session)
    yield from _staged(judge_session)
    yield from _own_storage(judge_session)


def _processes(judge_session: Judge) -> Iterator[Leftover]:
    for pid, label, uid in process_labels.labelled_processes():
        what = f"process {pid} of {label}"
        yield Leftover("end", what, judge_session(label, uid), partial(_end_process, pid, label, uid))


def _end_process(pid: int, label: str, uid: int) -> bool:
    """End all processes of this user that belong to the job of a process, so that none starts again."""
    process_labels.end_labelled(label, uid=uid)
    return process_labels.label_of(pid) != label


def _groups(judge_session: Judge) -> Iterator[Leftover]:
    for group, label in control_groups.left():
        if group.is_populated():
            what = f"processes without a job label in the control group of {label}"
            verdict = judge_session(label, group.path.stat().st_uid)
            yield Leftover("end", what, verdict, partial(_end_group, group))


def _end_group(group: control_groups.ControlGroup) -> bool:
    left = group.end()
    group.remove()
    return not left


def _of_backends(judge_session: Judge, site: str | None) -> Iterator[Leftover]:
    """Yield what campaigns have in queues and clusters, as found by each installed backend.

    A leftover of several sessions is dead only if all of them are dead.
    """
    surroundings = Surroundings(
        env=os.environ,
        lab=lab.find(),  # which also forgets the state of labs that have ended
        site=config.read_site(site).site if site is not None else None,
        report=lambda message: echo(f"tare: {message}", err=True),
    )
    for plugin in usable_backends():
        for one in plugin.leftovers(surroundings):
            verdicts = [_of_campaign(judge_session, *owner) for owner in one.owners]
            verdict = next((known for known in verdicts if known.fate is not Fate.DEAD), verdicts[0])
            has_session = any(owner.label for owner in one.owners)
            if one.kept and (verdict.fate is Fate.DEAD or not has_session):
                verdict = SessionFate(Fate.UNKNOWN, one.kept)
            yield Leftover(one.verb, one.what, verdict, partial(_end_in_backend, one))


def _of_campaign(judge_session: Judge, label: str, folder: str) -> SessionFate:
    """Judge what the session `label` has submitted; another session may have taken it over."""
    parsed = parse(label)
    is_held = hold_of(Path(folder, JOURNAL)) if folder else None
    if is_held:
        return SessionFate(Fate.ALIVE)
    verdict = judge_session(label, None)
    if verdict.fate is not Fate.DEAD:
        return verdict
    if is_held is None:
        why = f"whether its campaign still runs cannot be read in {folder} here"
        return SessionFate(Fate.UNKNOWN, f"{why}; cancel or delete it yourself if it does not")
    if parsed is None or parsed.session.campaign != campaign_hash(Path(folder)):
        return SessionFate(Fate.UNKNOWN, f"its job label is not that of the campaign in {folder}")
    return verdict


def usable_backends() -> list[BackendPlugin[Any]]:
    """Return the installed backends that can be used; print an error for each of the others."""
    found = []
    for name in backend_names():
        try:
            found.append(backend(name))
        except UsageError as error:
            echo(f"tare: {error}", err=True)
    return found


def _end_in_backend(one: QueuedLeftover) -> bool:
    try:
        return one.end()
    except BackendError as error:
        echo(f"tare: {error}", err=True)
        return False


def _containers(judge_session: Judge) -> Iterator[Leftover]:
    """Yield the containers of the engines of this machine and of the lab."""
    for name, hosts in _engine_hosts().items():
        engine, platform = registry.runtime(name), Platform(runtime=name, container=ContainerOptions())
        if shutil.which(name) is None or not isinstance(engine, Engine):
            continue
        for host, env in hosts:
            for container, label in find_labelled(engine, platform, host, env).items():
                end = partial(_remove_container, engine, platform, host, env, label)
                yield Leftover("remove", f"container {container} of {label}", judge_session(label, None), end)


def _remove_container(
    engine: Engine, platform: Platform, host: Host, env: dict[str, str], label: str
) -> bool:
    sweep(engine, platform, [host], env, lambda other: other == label)
    return label not in find_labelled(engine, platform, host, env).values()


def _staged(judge_session: Judge) -> Iterator[Leftover]:
    """Yield the working folders that were copied to hosts."""
    for one, owner in staged.Staged.recorded():
        what = f"folder {one.place} of {', '.join(one.hosts)}"
        yield Leftover("remove", what, judge_session(one.label, owner), partial(staged.remove, one), one.file)


def _own_storage(judge_session: Judge) -> Iterator[Leftover]:
    """Yield the folders that runs had on storage paths."""
    for one, owner in own_storage.OwnFolder.recorded():
        what = f"folder {one.folder}{' of ' if one.agent else ''}{', '.join(filter(None, one.hosts))}"
        verdict = judge_session(one.label, owner)
        yield Leftover("remove", what, verdict, partial(own_storage.remove, one), one.file)


def _engine_hosts() -> dict[str, list[tuple[Host, dict[str, str]]]]:
    """Return the hosts on which each engine keeps containers.

    The lab has one podman for all hosts, and one docker for each host.
    """
    here = (Host(None, ()), dict(os.environ))
    running = lab.find()
    if running is None:
        return {"podman": [here], "docker": [here]}
    env = {**os.environ, **running.env}
    hosts = {name: Host(name, (str(lab.AGENT),)) for name in running.topology.hosts}
    podman = [hosts[running.topology.nodes[0]]] if running.has_service("containers") else []
    docker = [hosts[name] for name in running.docker_hosts]
    return {
        "podman": [here, *((host, env) for host in podman)],
        "docker": [here, *((host, env) for host in docker)],
    }
