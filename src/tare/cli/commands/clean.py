"""`tare clean`: what dead campaigns left behind on this machine, and in its Slurm's queue."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from tare import lab, plugins
from tare.backends import marks, own_storage, staged
from tare.backends.containers import Host, find_labelled, sweep
from tare.backends.slurm.commands import Slurm
from tare.backends.slurm.leftovers import leftovers
from tare.cli.output import echo
from tare.errors import BackendError
from tare.model.launch import Engine
from tare.model.site import ContainerOptions, Platform
from tare.store.campaign import JOURNAL
from tare.store.journal import is_held


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list it.")
@click.option("--site", metavar="SITE", help="Look into the clusters of this site too.")
def command(dry_run: bool, site: str | None) -> None:
    """End what dead campaigns left behind: processes, containers, Slurm jobs, folders; forget ended labs.

    Tare cleans up after itself, also when it is killed, but for jobs in a queue: going on with their
    campaign takes them over. This ends them, and looks again for the rest.

    \b
    Example:
      tare clean --dry-run
      tare clean --site openshift.yaml
    """
    found = (
        _end_processes(dry_run) + _end_jobs(dry_run) + _remove_containers(dry_run) + _remove_staged(dry_run)
    )
    found += _remove_own_storage(dry_run)
    found += _clean_clusters(site, dry_run) if site is not None else 0
    if not found:
        echo("nothing is left behind")


def _end_processes(is_dry: bool) -> int:
    leftover = marks.orphaned()
    for pid, label in leftover:
        echo(f"{'would end' if is_dry else 'ended'} process {pid} of {label}")
        if not is_dry:
            marks.end_marked(label)
    return len(leftover)


def _end_jobs(is_dry: bool) -> int:
    """End jobs of dead campaigns in this machine's Slurm, and in the lab's."""
    count = 0
    running = lab.find()  # which also forgets the state of labs that have ended
    queues = []
    if shutil.which("squeue") and ("SLURM_CONF" in os.environ or Path("/etc/slurm/slurm.conf").exists()):
        queues.append(Slurm((), None, os.environ))
    if running is not None and running.has_slurm:
        queues.append(Slurm([str(lab.AGENT)], running.topology.nodes[0], {**os.environ, **running.env}))
    for slurm in queues:
        try:
            jobs = leftovers(slurm, lambda folder: is_held(folder / JOURNAL))
            if jobs and not is_dry:
                slurm.cancel([job.id for job in jobs])
        except BackendError as error:
            echo(f"tare: Slurm's queue could not be looked at: {error}", err=True)
            continue
        for job in jobs:
            echo(f"{'would cancel' if is_dry else 'cancelled'} Slurm job {job.id} of {job.comment}")
        count += len(jobs)
    return count


def _clean_clusters(name: str, is_dry: bool) -> int:
    """Delete what dead campaigns of this machine left in the clusters of a site."""
    from tare import config
    from tare.cli.wiring.pods import clean_cluster

    platforms = config.read_site(name).site.platforms.values()
    clusters = {
        (options.context, options.kubeconfig, options.namespace): options
        for platform in platforms
        if (options := platform.kubernetes) is not None
    }
    count = 0
    for options in clusters.values():
        for line in clean_cluster(options, is_dry=is_dry):
            echo(line)
            count += 1
    return count


def _remove_containers(is_dry: bool) -> int:
    """Remove containers of dead campaigns from this machine's engines, and from the lab's."""
    count = 0
    for name, places in _engine_places().items():
        engine, platform = plugins.runtime(name), Platform(runtime=name, container=ContainerOptions())
        if shutil.which(name) is None or not isinstance(engine, Engine):
            continue
        for host, env in places:
            for container, label in find_labelled(engine, platform, host, env).items():
                if marks.is_orphaned(label):
                    echo(f"{'would remove' if is_dry else 'removed'} container {container} of {label}")
                    count += 1
            if not is_dry:
                sweep(engine, platform, [host], env, marks.is_orphaned)
    return count


def _remove_staged(is_dry: bool) -> int:
    """Remove the working folders that dead campaigns copied to hosts."""
    leftover = staged.recorded(marks.is_orphaned)
    for one in leftover:
        is_gone = not is_dry and staged.remove(one)
        where = f"folder {one.place} of {', '.join(one.hosts)}"
        if is_dry or is_gone:
            echo(f"{'would remove' if is_dry else 'removed'} {where}")
        else:
            echo(f"tare: {where} cannot be removed now; try again when the hosts answer", err=True)
    return len(leftover)


def _remove_own_storage(is_dry: bool) -> int:
    """Remove the folders that runs of dead campaigns had on storage paths."""
    leftover = own_storage.recorded(marks.is_orphaned)
    for one in leftover:
        is_gone = not is_dry and own_storage.remove(one)
        where = f"folder {one.folder}{' of ' if one.agent else ''}{', '.join(filter(None, one.hosts))}"
        if is_dry or is_gone:
            echo(f"{'would remove' if is_dry else 'removed'} {where}")
        else:
            echo(f"tare: {where} cannot be removed now; is it another user's by now?", err=True)
    return len(leftover)


def _engine_places() -> dict[str, list[tuple[Host, dict[str, str]]]]:
    """Return where each engine keeps containers: the lab has one podman for all hosts, and a docker each."""
    here = (Host(None, ()), dict(os.environ))
    running = lab.find()
    if running is None:
        return {"podman": [here], "docker": [here]}
    env = {**os.environ, **running.env}
    hosts = {name: Host(name, (str(lab.AGENT),)) for name in running.topology.hosts}
    podman = [hosts[running.topology.nodes[0]]] if running.has_containers else []
    docker = [hosts[name] for name in running.docker_hosts]
    return {
        "podman": [here, *((host, env) for host in podman)],
        "docker": [here, *((host, env) for host in docker)],
    }
