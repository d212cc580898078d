"""`tare doctor`: report what is missing on this machine or at a site, why it matters and how to get it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tare.cli.logs import log_options
from tare.core.redaction import redact_text
from tare.terminal.output import echo, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.core.checks import Finding
    from tare.core.site import Site

_MISSING_EXIT_CODE = 3


@click.command()
@click.option(
    "--site", metavar="SITE", help="Check this site instead of the machine: a site file, lab or local."
)
@click.option(
    "--platform", "platforms", multiple=True, help="Check only this platform of the site; may be repeated."
)
@json_option
@log_options
def command(site: str | None, platforms: tuple[str, ...], as_json: bool) -> None:
    """Check what this machine needs for the lab: what is missing, why it matters and how to get it.

    With --site, check a site: whether its hosts respond, clocks agree, the working folder and storage can
    be written, interfaces and addresses exist, and batch systems accept jobs. Each platform starts two
    ranks of one program on two nodes, and the MPI and network that they used are shown. Run this command
    in the folder where campaigns will be.

    Exits with 3 if something is missing that the lab or the site needs.

    \b
    Examples:
      tare doctor
      tare doctor --site venus.yaml
      tare doctor --site lab --platform mpich --platform slurm
    """
    if site is not None:
        _check_site(site, platforms, as_json=as_json)
        return
    if platforms:
        raise click.UsageError("--platform is one of a site; name that with --site")
    from tare.lab.requirements import check
    from tare.plugins.registry import problems

    broken = [redact_text(one) for one in problems()]
    requirements = [msgspec.structs.replace(one, found=redact_text(one.found)) for one in check()]
    if as_json:
        print_json("tare.doctor/1", {"requirements": requirements, "problems": broken})
    else:
        print_table(
            ("", "what", "found"),
            [(_state(one.is_met, one.is_needed), one.name, one.found) for one in requirements],
        )
        for one in requirements:
            if not one.is_met:
                echo("", f"{one.name}: {one.why}.", f"  {one.cure}")
        for problem in broken:
            echo("", problem)
    if any(one.is_needed and not one.is_met for one in requirements):
        sys.exit(_MISSING_EXIT_CODE)


def _state(is_met: bool, is_needed: bool) -> str:
    if is_met:
        return "ok"
    return "MISSING" if is_needed else "optional"


def _check_site(name: str, platforms: tuple[str, ...], *, as_json: bool) -> None:
    """Print each finding as soon as it is there, because a platform may wait in a queue."""
    labels = {True: "ok", False: "FAULT", None: "unknown"}
    findings = []
    for raw in _find(name, platforms):
        hidden = {"found": redact_text(raw.found), "cure": redact_text(raw.cure)}
        finding = msgspec.structs.replace(raw, **hidden)
        findings.append(finding)
        if not as_json:
            echo(f"{labels[finding.is_met]:8} {finding.name}: {finding.found}")
            if not finding.is_met:
                echo(f"         {finding.cure}")
    if as_json:
        print_json("tare.doctor.site/1", {"site": name, "findings": findings})
    if any(one.is_met is False for one in findings):
        sys.exit(_MISSING_EXIT_CODE)


def _find(name: str, chosen: tuple[str, ...]) -> Iterator[Finding]:
    from tare import config
    from tare.app.executors import lab_env
    from tare.app.planning import with_agent
    from tare.app.platform_checks import check_backend, check_platform
    from tare.plugins.backend_registry import backend

    source = config.read_site(name)
    site = with_agent(source.site)
    unknown = [one for one in chosen if one not in site.platforms]
    if unknown:
        raise click.UsageError(f"{name} has no platform {unknown[0]!r}; it has {', '.join(site.platforms)}")
    platforms = {one: site.platforms[one] for one in chosen or site.platforms}
    network = next(iter(site.networks.values()), None)  # the network with which platforms are checked
    hosts = [network.host_of(node) if network else node for node in site.nodes[:2]]
    with lab_env(site, list(platforms.values()), hosts) as env:
        if any(platform.options.pods is None for platform in platforms.values()):
            yield from _find_on_hosts(site, env)
        for one, platform in platforms.items():
            is_up = True
            for finding in check_backend(source, site, one, env):
                is_up = is_up and finding.is_met is not False
                yield finding
            if is_up and backend(platform.backend).starts_ranks_in_doctor:
                yield check_platform(source, one, env, Path.cwd())


def _find_on_hosts(site: Site, env: Mapping[str, str]) -> Iterator[Finding]:
    from tare.app.site_checks import Situation, check_hosts
    from tare.plugins.backends.ownership import sessions
    from tare.plugins.backends.process.backend import ProcessBackend

    prefix = str(sessions.new_session("doctor"))
    with ProcessBackend(label=prefix, agent=site.agent, hosts=site.nodes, env=env) as backend:
        yield from check_hosts(Situation(site, Path.cwd(), backend))
