"""Check a whole site, as `tare doctor --site` does: hosts, batch systems, and two ranks on each platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tare.app.executors import lab_env
from tare.app.patience import Patience
from tare.app.planning import require_plugins, with_agent
from tare.app.platform_checks import check_backend, check_platform
from tare.app.site_checks import Situation, check_hosts
from tare.config import SiteSource
from tare.core.checks import Finding
from tare.core.errors import UsageError
from tare.core.site import Platform, Site
from tare.plugins.backend_registry import backend
from tare.plugins.backends.ownership import sessions
from tare.plugins.backends.process.backend import ProcessBackend


def examine(
    source: SiteSource,
    chosen: Sequence[str] = (),
    *,
    starts_ranks: bool = True,
    patience: Patience | None = None,
) -> Iterator[Finding]:
    """Yield the findings on a site and its platforms, or on those `chosen`, each as soon as it is there.

    Without `starts_ranks`, nothing is started on nodes: only batch systems are asked, and this machine. Jobs
    wait in their queues as long as `patience` says; without it, for ever.
    Raises UsageError for a platform, a launcher or a runtime that is not there.
    """
    require_plugins(source)
    site = with_agent(source.site)
    unknown = [one for one in chosen if one not in site.platforms]
    if unknown:
        known = ", ".join(site.platforms)
        raise UsageError(f"{source.file_name} has no platform {unknown[0]!r}; it has {known}")
    platforms = {one: site.platforms[one] for one in chosen or site.platforms}
    network = next(iter(site.networks.values()), None)  # the network with which platforms are checked
    hosts = [network.host_of(node) if network else node for node in site.nodes[:2]]
    with lab_env(site, list(platforms.values()), hosts) as env:
        if _has_hosts(site, platforms) and (starts_ranks or not site.agent):
            yield from _check_hosts(site, env)
        for one, platform in platforms.items():
            is_up = True
            for finding in check_backend(source, site, one, env):
                is_up = is_up and finding.is_met is not False
                yield finding
            if is_up and starts_ranks and backend(platform.backend).starts_ranks_in_doctor:
                yield check_platform(source, one, env, Path.cwd(), patience or Patience())


def _has_hosts(site: Site, platforms: Mapping[str, Platform]) -> bool:
    """Return whether hosts of the site can be asked.

    Nodes of a batch system often take no ssh; those of a lab do.
    """
    if all(platform.options.pods is not None for platform in platforms.values()):
        return False
    return site.lab is not None or any(not one.is_queued for one in platforms.values())


def _check_hosts(site: Site, env: Mapping[str, str]) -> Iterator[Finding]:
    prefix = str(sessions.new_session("doctor"))
    with ProcessBackend(label=prefix, agent=site.agent, hosts=site.nodes, env=env) as on_hosts:
        yield from check_hosts(Situation(site, Path.cwd(), on_hosts))
