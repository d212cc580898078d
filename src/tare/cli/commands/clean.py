"""`tare clean`: remove what dead campaigns left on this machine, in queues and in clusters."""

from __future__ import annotations

import click

from tare.app.leftovers import Leftover, find_leftovers
from tare.cli.logs import log_options
from tare.plugins.backends.ownership.sessions import Fate, SessionFate, judge
from tare.terminal.output import echo, json_option, print_json

_NOW = {"end": "ended", "remove": "removed", "cancel": "cancelled", "delete": "deleted"}
_AGAIN = "try again when its hosts answer, or look whose it is by now"


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list what would be ended or removed.")
@click.option("--site", metavar="SITE", help="Also look in the clusters and queues of this site.")
@click.option(
    "--before-boot",
    is_flag=True,
    help="Also end what was left before the last boot of this host, if no other host has its name.",
)
@click.option(
    "--old-marks",
    is_flag=True,
    help="Treat job labels of version 0.1.0, which name no host, as labels of this host.",
)
@json_option
@log_options
def command(dry_run: bool, site: str | None, before_boot: bool, old_marks: bool, as_json: bool) -> None:
    """End and remove what ended campaigns left behind: processes, containers, jobs and folders.

    Tare cleans up after itself, even when it is killed. Only jobs in a queue remain: if the campaign
    continues, it takes them over. This command ends these jobs, and looks for anything else that is left.

    It ends only what `tare run` started for you on this host since the last boot, if that `tare run` has
    ended. Everything else with a job label of Tare is listed as left alone, with the reason.

    \b
    Examples:
      tare clean --dry-run
      tare clean --site openshift.yaml
    """

    def judge_session(label: str, owner: int | None) -> SessionFate:
        verdict = judge(label, owner, takes_old=old_marks)
        return SessionFate(Fate.DEAD) if before_boot and verdict.fate is Fate.BEFORE_BOOT else verdict

    ended: list[Leftover] = []
    failed: list[Leftover] = []
    left: list[Leftover] = []
    for one in find_leftovers(judge_session, site):
        if one.verdict.fate is Fate.ALIVE:
            continue
        if one.verdict.fate is not Fate.DEAD:
            left.append(one)
            continue
        is_done = dry_run or one.end()
        (ended if is_done else failed).append(one)
        if is_done and not as_json:
            echo(f"{f'would {one.verb}' if dry_run else _NOW[one.verb]} {one.what}")
        elif not as_json:
            gone = f", or delete {one.record} if they are gone for good" if one.record else ""
            echo(f"tare: {one.what} cannot be {_NOW[one.verb]} now; {_AGAIN}{gone}", err=True)
    if as_json:
        print_json(
            "tare.clean/1",
            {
                "is_dry": dry_run,
                "ended": [{"verb": one.verb, "what": one.what} for one in ended],
                "failed": [{"verb": one.verb, "what": one.what} for one in failed],
                "left": [{"what": one.what, "why": one.verdict.why} for one in left],
            },
        )
        return
    if left:
        echo("left alone:", *(f"  {one.what}: {one.verdict.why}" for one in left))
    elif not ended and not failed:
        echo("nothing is left behind")
