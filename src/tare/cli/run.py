"""`tare run`: carry out a plan, go on with one, or extend one."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click
import msgspec

from tare import __version__
from tare.cli import wiring
from tare.cli.progress import describe, make_progress
from tare.cli.status import account, summary_line
from tare.errors import UsageError
from tare.model.attempt import Attempt, State
from tare.model.campaign import Campaign
from tare.model.plan import Plan
from tare.runner.loop import Loop
from tare.store.campaign import attempts_of, freeze, is_campaign, open_journal, read_campaign, read_plan
from tare.store.journal import AttemptBegan, AttemptEnded, BlockBegan, Journal, SessionBegan


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Campaign folder.  [default: campaigns/STUDY-DATE]"
)
@click.option("--extend", is_flag=True, help="Add blocks, or cases that the study has gained, to a campaign.")
@click.option("--blocks", type=click.IntRange(min=1), help="Run so many blocks, whatever the study says.")
@click.option("--retry-failed", is_flag=True, help="Try runs again that failed or are invalid.")
def command(study: Path, out: Path | None, extend: bool, blocks: int | None, retry_failed: bool) -> None:
    """Run STUDY, a study file, or go on with STUDY, a campaign folder.

    Blocks pass over all cases in a random order of their own. What has finished is never run again:
    the same command after an interruption, a crash or a full disk goes on where it ended.

    \b
    Examples:
      tare run studies/demo.yaml --out campaigns/demo
      tare run campaigns/demo                          go on after an interruption
      tare run campaigns/demo --extend --blocks 12     five more blocks
    """
    loaded = wiring.load(study, blocks)
    folder = study if study.is_dir() else out or _default_folder(loaded.plan)
    click.echo(f"campaign {folder}")
    with _terminated_like_interrupted(folder), open_journal(folder) as journal:
        if is_campaign(folder):
            _require_same(read_plan(folder), loaded.plan, folder, is_extending=extend)
        freeze(folder, loaded.plan, loaded.texts)
        _run(folder, journal, loaded, is_retrying_failed=retry_failed)
    campaign = read_campaign(folder)
    counts = Counter(state for _, state, _ in account(campaign))
    _print_summary(campaign, counts)
    if counts[State.DONE] < sum(counts.values()):
        raise click.exceptions.Exit(1)


def _run(folder: Path, journal: Journal, loaded: wiring.Loaded, *, is_retrying_failed: bool) -> None:
    log = _JournalLog(journal)
    history = attempts_of(journal.events)
    log.began(history)
    with wiring.executor(folder, loaded) as executor, make_progress(loaded.plan.varied) as progress:
        Loop(
            loaded.plan,
            log,
            executor.execute,
            history=history,
            orders={event.block: event.order for event in journal.events if isinstance(event, BlockBegan)},
            rule=wiring.stopping_rule(loaded.plan),
            on_progress=progress,
            is_retrying_failed=is_retrying_failed,
        ).run()


class _JournalLog:
    """The loop's log, kept in the journal: what ended is synced, what began need not be."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def began(self, history: tuple[Attempt, ...]) -> None:
        """Record that a session begins, and as lost what the one before did not end."""
        self._journal.append(SessionBegan(time.time(), __version__))
        ended = {event.attempt.folder for event in self._journal.events if isinstance(event, AttemptEnded)}
        for attempt in history:
            if attempt.folder not in ended:
                self.attempt_ended(attempt)

    def block_began(self, block: int, order: list[str]) -> None:
        self._journal.append(BlockBegan(block, order), is_synced=False)

    def attempt_began(self, case: str, block: int, attempt: int, at: float) -> None:
        self._journal.append(AttemptBegan(case, block, attempt, at), is_synced=False)

    def attempt_ended(self, attempt: Attempt) -> None:
        self._journal.append(AttemptEnded(attempt))


def _default_folder(plan: Plan) -> Path:
    return Path("campaigns") / f"{plan.study}-{time.strftime('%Y-%m-%dT%H%M%S')}"


def _require_same(old: Plan, new: Plan, folder: Path, *, is_extending: bool) -> None:
    """Raise UsageError unless `new` is `old`, or may extend it."""
    lost = {case.id for case in old.cases} - {case.id for case in new.cases}
    if lost:
        example = next(case for case in old.cases if case.id in lost)
        raise UsageError(
            f"{folder} holds {len(lost)} cases that the study no longer has, such as "
            f"{describe(example, old.varied)}; restore them, or choose another --out"
        )
    has_fewer = new.repeats.max < old.repeats.max
    if has_fewer:
        raise UsageError(
            f"{folder} has {old.repeats.max} blocks planned; the study now asks for {new.repeats.max}"
        )
    grown = len(new.cases) > len(old.cases) or new.repeats != old.repeats
    if grown and not is_extending:
        raise UsageError(
            f"{folder} holds another state of this study ({_extent(old)}; now {_extent(new)}); "
            "add --extend to extend it, or choose another --out"
        )
    rest = msgspec.structs.replace(
        new,
        cases=old.cases,
        repeats=old.repeats,
        varied=old.varied,
        foms=old.foms,
        scaling=old.scaling,  # how results are read, not how they are made
    )
    if rest != old and not is_extending:
        raise UsageError(f"{folder}: the study's settings have changed since; add --extend to accept them")


def _extent(plan: Plan) -> str:
    repeats = plan.repeats
    blocks = str(repeats.min) if repeats.min == repeats.max else f"{repeats.min} to {repeats.max}"
    return f"{len(plan.cases)} cases × {blocks} blocks"


def _print_summary(campaign: Campaign, counts: Counter[State]) -> None:
    click.echo(summary_line(campaign, counts))
    why = Counter(
        (attempt.state, attempt.reason)
        for _, state, attempt in account(campaign)
        if attempt is not None and state is not State.DONE
    )
    for (state, reason), count in why.most_common(5):
        click.echo(f"  {count} × {state}: {reason}")
    if campaign.plan.reference and counts[State.DONE]:
        from tare.answers.compare import aggregates
        from tare.cli.compare import main_rows, print_comparisons

        click.echo()
        print_comparisons(campaign, main_rows(aggregates(campaign)), campaign.plan.reference)
    click.echo(f"\nnext: tare report {campaign.folder}")


@contextmanager
def _terminated_like_interrupted(folder: Path) -> Iterator[None]:
    """Let SIGTERM and SIGHUP clean up as Ctrl-C does, and say how to go on."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"tare: interrupted; go on with: tare run {folder}", err=True)
        raise click.exceptions.Exit(130) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
