"""`tare init`: look around, and write a site file and a first study that run here."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.logs import log_options
from tare.cli.options import waiting_time
from tare.core.errors import CampaignError, UsageError
from tare.core.redaction import redact_text
from tare.core.visible_text import visible_line
from tare.terminal.output import at_work, echo, json_option, print_json

if TYPE_CHECKING:
    from tare.app.init.site_draft import SiteDraft
    from tare.app.init.survey import Survey
    from tare.core.checks import Finding

_MISSING_EXIT_CODE = 3


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option("--hosts", metavar="HOSTS", help="Hosts that ssh reaches, as n1,n2 or n[1-4].")
@click.option(
    "--partition",
    default="",
    help="Slurm's partition for the runs; by default you are asked, or Slurm's.",
)
@click.option(
    "--account", default="", help="Account that Slurm charges; default: what the partition demands."
)
@click.option("--qos", default="", help="QoS of Slurm's jobs; default: what the partition demands.")
@click.option(
    "--context",
    default="",
    help="Context of Kubernetes for the runs; by default you are asked, or the current one.",
)
@click.option("--namespace", default="", help="Namespace for pods; default: the context's.")
@click.option(
    "--image",
    default="",
    help="Image of pods; by default you are asked, or an MPIJob's.",
)
@click.option(
    "--wait",
    callback=waiting_time,
    default="5 min",
    show_default=True,
    metavar="TIME",
    help="Cancel a job of its own that has waited in the queue for so long, and go on without it.",
)
@click.option("--no-jobs", is_flag=True, help="Run nothing on compute nodes or hosts, not even for seconds.")
@click.option("--yes", is_flag=True, help="Ask nothing: take the defaults, and run what is announced.")
@click.option("--force", is_flag=True, help="Replace site.yaml and first.yaml if they are there.")
@json_option
@log_options
def command(
    folder: Path,
    hosts: str | None,
    partition: str,
    account: str,
    qos: str,
    context: str,
    namespace: str,
    image: str,
    wait: float,
    no_jobs: bool,
    yes: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Look around, and write a site file and a first study: DIR/site.yaml and DIR/first.yaml (default: here).

    It asks Slurm and other batch systems, a Kubernetes cluster (--context), hosts over ssh (--hosts), the
    nodes of the job of PBS, LSF, Flux or Grid Engine in which it is called, or this machine. It writes what
    it finds: nodes, networks, MPIs, folders. Each line says where it comes from. What runs on compute nodes
    or hosts is announced and asked for first, and so is the Job in a cluster that looks into the image. Then
    it tries each platform with two ranks on two nodes (in a cluster, by dry runs), as `tare doctor --site`
    does; those that do not work are left in the file as comments, with the reason.

    Exits with 3 if something that was written does not work.

    \b
    Examples:
      tare init
      tare init venus --partition compute --account proj42
      tare init venus --hosts 'n[1-4]'
      tare init ocp --context ocp --namespace bench --image quay.io/me/mpi:1
      tare init --no-jobs --json
    """
    from tare.app.init import files
    from tare.app.init.survey import Wishes, survey
    from tare.app.init.trial import how_tried
    from tare.discovery.commands import OwnCommands
    from tare.plugins.backends.slurm.variables import cluster_of

    targets = _targets(folder, is_forced=force)
    dialogue = _Terminal(is_silent=as_json, agrees=yes)
    wishes = Wishes(
        folder=folder.resolve(),
        hosts=_expanded(hosts),
        partition=partition,
        account=account,
        qos=qos,
        context=context,
        namespace=namespace,
        image=image,
        allows_jobs=not no_jobs,
        wait_s=round(wait),
    )
    cluster = cluster_of(os.environ)
    commands = OwnCommands({"SLURM_CLUSTERS": cluster} if cluster else {}, dialogue.say)
    with _made(folder):
        found = survey(commands, wishes, dialogue)
        draft, findings = _tried(found, folder, dialogue, wishes.wait_s)
        tried = how_tried(draft, findings)
        where = f"{found.found.host}, {time.strftime('%Y-%m-%d')}"
        texts = (files.site_text(draft, where, tried), files.study_text(draft))
        for path, text in zip(targets, texts, strict=True):
            _write(path, text, is_forced=force)
    if as_json:
        shown = {"found": found.found, "files": [str(path) for path in targets], "findings": findings}
        print_json("tare.init/1", shown)
    else:
        from tare.cli.shell_text import quote

        study = targets[1]
        echo("", f"written  {targets[0]}", f"written  {study}")
        within = "" if folder.resolve() == Path.cwd() else f"cd -- {quote(str(folder))} && "
        echo("", f"next: {within}tare plan {study.name} --show", f"      {within}tare run {study.name}")
    if any(one.is_met is False for one in findings if not _is_left_out(one, draft)):
        sys.exit(_MISSING_EXIT_CODE)


def _targets(folder: Path, *, is_forced: bool) -> tuple[Path, Path]:
    """Return the files to write. Raises UsageError if one is there already."""
    from tare.app.init.files import SITE, STUDY

    paths = folder / SITE, folder / STUDY
    for path in paths:
        if os.path.lexists(path) and not is_forced:
            raise UsageError(f"{path} is there already; name another folder, or replace it with --force")
    return paths


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Have a folder. If what is done there fails or is interrupted, empty ones that were made go again."""
    lacking = [one for one in (folder.absolute(), *folder.absolute().parents) if not os.path.lexists(one)]
    try:
        with CampaignError.for_files(folder):
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for one in lacking:
            with contextlib.suppress(OSError):  # one that is not empty is left, and so are those above it
                one.rmdir()
        raise


def _expanded(hosts: str | None) -> tuple[str, ...]:
    """Return the hosts of ``n1,n[2-4]``. Raises UsageError."""
    import re

    from tare.config.expansion import expand_nodes

    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", hosts or ""):
        try:
            names += expand_nodes(part.strip()) if part.strip() else ()
        except ValueError as error:
            raise UsageError(f"--hosts: {error}") from error
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:-]*", name):
            raise UsageError(f"--hosts: {name!r} is not the name of a host; use letters, digits, - and .")
    return tuple(dict.fromkeys(names))


def _tried(found: Survey, folder: Path, dialogue: _Terminal, wait_s: int) -> tuple[SiteDraft, list[Finding]]:
    """Return the draft with the faults of its platforms, and all findings."""
    from tare.app.init.draft import make_draft
    from tare.app.init.trial import marked, try_out, untried
    from tare.app.patience import Patience

    draft = make_draft(found.found, found.choice)
    findings: list[Finding] = []
    with contextlib.chdir(folder):
        starts_ranks = found.may_try and _agrees_to_trial(draft, dialogue, wait_s)
        patience = Patience(wait_s, lambda line: dialogue.say(redact_text(line)))
        trial = try_out(draft, found.found.host, starts_ranks=starts_ranks, patience=patience)
        while True:
            with dialogue.busy("trying the site"):
                finding = next(trial, None)
            if finding is None:
                return untried(marked(draft, findings), findings), findings
            findings.append(_hidden(finding))
            dialogue.say(*_lines(findings[-1]))


def _agrees_to_trial(draft: SiteDraft, dialogue: _Terminal, wait_s: int) -> bool:
    """Return whether platforms may start ranks; the user is asked if that takes jobs of a batch system."""
    from tare.app.init.trial import announcement

    jobs = announcement(draft, wait_s)
    if jobs:
        dialogue.say(jobs)
    return not jobs or dialogue.confirm("May tare init run them?")


def _lines(finding: Finding) -> list[str]:
    from tare.cli.commands.doctor import finding_lines

    return finding_lines(finding)


def _hidden(finding: Finding) -> Finding:
    """Return the finding without secrets that a program may have printed."""
    import msgspec

    return msgspec.structs.replace(finding, found=redact_text(finding.found), cure=redact_text(finding.cure))


def _is_left_out(finding: Finding, draft: SiteDraft) -> bool:
    """Return whether the finding is of a platform that is left out of the file."""
    return any(one.fault and finding.name == one.name for one in draft.platforms)


def _write(path: Path, text: str, *, is_forced: bool) -> None:
    """Write a file that is not there yet, or replace it; a link is replaced, not followed.

    A file that is replaced stays as it is until the new one is whole.
    """
    target = path.with_name(f".{path.name}.{os.getpid()}.new") if is_forced else path
    with CampaignError.for_files(path.parent):
        try:
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
            target.replace(path)
        except FileExistsError:
            raise
        except OSError:  # a file that is cut off, as by a quota, would be in the way of the next call
            target.unlink(missing_ok=True)
            raise


class _Terminal:
    """Asks and tells at the terminal; takes the defaults if the user `agrees` to all, or there is none."""

    def __init__(self, *, is_silent: bool, agrees: bool) -> None:
        self._is_silent, self._agrees = is_silent, agrees
        self._asks = sys.stdin.isatty() and not agrees and not is_silent

    def choose(self, question: str, options: Sequence[str], default: str) -> str:
        if not self._asks or len(options) < 2:
            return default
        echo(f"{question}:", *(f"  {number}  {one}" for number, one in enumerate(options, 1)))
        number = click.prompt(
            "Number", type=click.IntRange(1, len(options)), default=options.index(default) + 1, err=True
        )
        return options[number - 1]

    def ask(self, question: str, default: str) -> str:
        if not self._asks:
            return default
        answer: str = click.prompt(visible_line(question), default=default, err=True)
        return answer.strip() or default

    def confirm(self, question: str) -> bool:
        if self._asks:
            return click.confirm(visible_line(question), default=True, err=True)
        if not self._agrees:
            self.say("         not asked for: there is no terminal; --yes agrees")
        return self._agrees

    def say(self, *lines: str) -> None:
        if not self._is_silent:
            echo(*lines)

    def busy(self, what: str) -> AbstractContextManager[None]:
        return at_work(what)
