"""One session of a campaign: hold its journal, freeze its plan, and run what is still to be run."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType

import click
import msgspec

from tare import __version__
from tare.cli.progress import describe
from tare.cli.wiring import planning as wiring
from tare.cli.wiring.crews import make_crew
from tare.errors import UsageError
from tare.model.attempt import Attempt
from tare.model.campaign import Campaign
from tare.model.plan import Plan
from tare.runner.loop import Loop, Progress
from tare.store.campaign import attempts_of, freeze, is_campaign, open_journal, read_campaign, read_plan
from tare.store.journal import AttemptBegan, AttemptEnded, BlockBegan, Journal, SessionBegan

Display = AbstractContextManager[Callable[[Progress], None]]
"""Shows how far a campaign is, while it is entered."""


def blocks_begun_with(folder: Path, loaded: wiring.Loaded) -> int | None:
    """Return how many blocks a campaign was begun with by `--blocks`, so that going on needs no other.

    None where the study itself says how many.
    """
    if not is_campaign(folder):
        return None
    frozen, study = read_plan(folder).repeats, loaded.study.repeats
    return frozen.min if frozen != study and frozen == study.exactly(frozen.min) else None


def carry_out(
    folder: Path,
    loaded: wiring.Loaded,
    display: Display,
    *,
    is_extending: bool = False,
    is_retrying_failed: bool = False,
    jobs: int = 1,
) -> Campaign:
    """Run in `folder` what of the plan has not been run yet, and return the campaign.

    Raises UsageError when the folder holds another campaign, or one that may only be extended. An
    interrupt ends the command with 130, after what it ran has been ended and recorded.
    """
    _require_installed(loaded)
    how = " --retry-failed" if is_retrying_failed else ""
    with _terminated_like_interrupted(f"{folder}{how}"), open_journal(folder) as journal:
        if is_campaign(folder):
            _require_same(read_plan(folder), loaded.plan, folder, is_extending=is_extending)
        freeze(folder, loaded.plan, loaded.texts)
        _run(folder, journal, loaded, display, is_retrying_failed=is_retrying_failed, jobs=jobs)
    return read_campaign(folder)


def _require_installed(loaded: wiring.Loaded) -> None:
    """Raise LabError where an MPI or a root file system of ours is not there, before all its runs fail."""
    site = loaded.composer.site
    if site.lab is None and site.agent:  # its nodes have files of their own
        return
    from tare.lab.mpi import require_installed
    from tare.lab.rootfs import require_built

    one_of_each = {(case.platform, case.workload): case for case in loaded.plan.cases}
    used = {
        case.platform
        for case in one_of_each.values()
        if any(stage.is_mpi for stage, _ in loaded.composer.compose(case))
    }
    require_installed({site.platforms[name].prefix or "" for name in used})
    boxes = (site.platforms[case.platform].container for case in one_of_each.values())
    require_built({box.rootfs for box in boxes if box and box.rootfs})


def _run(
    folder: Path,
    journal: Journal,
    loaded: wiring.Loaded,
    display: Display,
    *,
    is_retrying_failed: bool,
    jobs: int,
) -> None:
    log = _JournalLog(journal)
    history = attempts_of(journal.events)
    log.began()
    with make_crew(folder, loaded, jobs=jobs) as crew, display as progress:
        Loop(
            loaded.plan,
            log,
            crew,
            history=history,
            begun=_without_end(journal, history),
            orders={event.block: event.order for event in journal.events if isinstance(event, BlockBegan)},
            rule=wiring.stopping_rule(loaded.plan),
            on_progress=progress,
            is_retrying_failed=is_retrying_failed,
        ).run()


def _without_end(journal: Journal, history: Sequence[Attempt]) -> list[Attempt]:
    """Return what earlier sessions began and have not recorded the end of."""
    ended = {event.attempt.folder for event in journal.events if isinstance(event, AttemptEnded)}
    return [attempt for attempt in history if attempt.folder not in ended]


class _JournalLog:
    """The loop's log, kept in the journal: what ended is synced, what began need not be."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def began(self) -> None:
        """Record that a session begins."""
        self._journal.append(SessionBegan(time.time(), __version__))

    def block_began(self, block: int, order: list[str]) -> None:
        self._journal.append(BlockBegan(block, order), is_synced=False)

    def attempt_began(self, case: str, block: int, attempt: int, at: float) -> None:
        self._journal.append(AttemptBegan(case, block, attempt, at), is_synced=False)

    def attempt_ended(self, attempt: Attempt) -> None:
        self._journal.append(AttemptEnded(attempt))


def _require_same(old: Plan, new: Plan, folder: Path, *, is_extending: bool) -> None:
    """Raise UsageError unless `new` is `old`, or may extend it."""
    lost = {case.id for case in old.cases} - {case.id for case in new.cases}
    if lost:
        example = next(case for case in old.cases if case.id in lost)
        raise UsageError(
            f"{folder} holds {len(lost)} cases that the study no longer has, such as "
            f"{describe(example, old)}; restore them, or choose another --out"
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
        telemetry=old.telemetry,  # how it is watched, which changes nothing of what is run
        sizes=old.sizes,  # how settings are shown
    )
    if rest != old and not is_extending:
        raise UsageError(f"{folder}: the study's settings have changed since; add --extend to accept them")


def _extent(plan: Plan) -> str:
    repeats = plan.repeats
    blocks = str(repeats.min) if repeats.min == repeats.max else f"{repeats.min} to {repeats.max}"
    return f"{len(plan.cases)} cases × {blocks} blocks"


@contextmanager
def _terminated_like_interrupted(arguments: str) -> Iterator[None]:
    """Let SIGTERM and SIGHUP clean up as Ctrl-C does, and say with which `arguments` to go on."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"tare: interrupted; go on with: tare run {arguments}", err=True)
        raise click.exceptions.Exit(130) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
