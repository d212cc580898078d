"""`tare doctor`: report what is missing on this machine or at a site, why it matters and how to get it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tare.cli.logs import log_options
from tare.cli.options import waiting_time
from tare.core.redaction import redact_text
from tare.terminal.output import echo, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.core.checks import Finding

_MISSING_EXIT_CODE = 3


@click.command()
@click.argument("study", required=False, type=click.Path(path_type=Path))
@click.option(
    "--site", metavar="SITE", help="Check this site instead of the machine: a site file, lab or local."
)
@click.option(
    "--platform", "platforms", multiple=True, help="Check only this platform of the site; may be repeated."
)
@click.option(
    "--wait",
    callback=waiting_time,
    metavar="TIME",
    help="With --site, cancel a job of its own that has waited in a queue for so long.  [default: never]",
)
@json_option
@log_options
def command(
    study: Path | None, site: str | None, platforms: tuple[str, ...], wait: float | None, as_json: bool
) -> None:
    """Check what this machine needs for the lab: what is missing, why it matters and how to get it.

    With STUDY, a study file or a campaign folder, check whether its programs can start: whether the hosts
    find them, their interpreters and shared libraries, load their software, and have inputs and storage
    paths. It starts no job: programs of Slurm and other queues are looked for on this machine.

    With --site, check a site: whether its hosts respond, clocks agree, the working folder and storage can
    be written, interfaces and addresses exist, and batch systems accept jobs. Each platform starts two
    ranks of one program on two nodes, and the MPI and network that they used are shown. Run this command
    in the folder where campaigns will be.

    Exits with 3 if something is missing that the lab, the study or the site needs.

    \b
    Examples:
      tare doctor
      tare doctor study.yaml
      tare doctor --site venus.yaml
      tare doctor --site lab --platform mpich --platform slurm
    """
    if study is not None:
        if site is not None or platforms:
            raise click.UsageError("a study names its site; leave out --site and --platform")
        _check_study(study, as_json=as_json)
        return
    if site is not None:
        _check_site(site, platforms, wait, as_json=as_json)
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


def _check_site(name: str, platforms: tuple[str, ...], wait_s: float | None, *, as_json: bool) -> None:
    """Print each finding as soon as it is there, because a platform may wait in a queue."""
    from tare import config
    from tare.app.patience import Patience
    from tare.app.site_doctor import examine

    def say(line: str) -> None:
        if not as_json:
            echo(redact_text(line))

    findings = examine(config.read_site(name), platforms, patience=Patience(wait_s, say))
    _tell(findings, "tare.doctor.site/1", {"site": name}, as_json=as_json)


def _check_study(study: Path, *, as_json: bool) -> None:
    from tare.app import planning
    from tare.app.study_doctor import examine_study

    _tell(examine_study(planning.load(study)), "tare.doctor.study/1", {"study": str(study)}, as_json=as_json)


def _tell(found: Iterable[Finding], schema: str, subject: dict[str, str], *, as_json: bool) -> None:
    """Print the findings, and exit with 3 if one is a fault."""
    findings = []
    for raw in found:
        hidden = {"found": redact_text(raw.found), "cure": redact_text(raw.cure)}
        finding = msgspec.structs.replace(raw, **hidden)
        findings.append(finding)
        if not as_json:
            echo(*finding_lines(finding))
    if as_json:
        print_json(schema, {**subject, "findings": findings})
    if any(one.is_met is False for one in findings):
        sys.exit(_MISSING_EXIT_CODE)


def finding_lines(finding: Finding) -> list[str]:
    """Return a finding as lines for people, with its cure unless the check is met."""
    label = {True: "ok", False: "FAULT", None: "unknown"}[finding.is_met]
    cure = [] if finding.is_met else [f"         {finding.cure}"]
    return [f"{label:8} {finding.name}: {finding.found}", *cure]
