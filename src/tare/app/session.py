"""Run one session of a campaign: lock its journal, freeze its plan, and run what remains."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from tare import __version__
from tare.analysis.pairing import Passing
from tare.app import planning
from tare.app.executors import make_executor, require_independent
from tare.app.inputs import check_inputs, large_inputs, with_checksums
from tare.app.resuming import continues_last_session, describe_repeats
from tare.app.run_options import DEFAULT, RunOptions
from tare.app.same_study import plan_so_far, require_same_study
from tare.app.signals import signals_as_interrupts
from tare.core import log
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.log import fields
from tare.core.safe_folder import SafeFolder
from tare.execution.loop import Loop
from tare.execution.loop_interface import Listener, LoopState, Past
from tare.storage.campaign import (
    freeze,
    is_campaign,
    open_journal,
    read_past,
    read_plan,
    require_free,
    with_unrecorded,
)
from tare.storage.inputs import store_inputs_record
from tare.storage.journal import (
    VERSION,
    AttemptBegan,
    AttemptEnded,
    AttemptWaits,
    BlockBegan,
    Journal,
    SessionBegan,
)
from tare.storage.log import keeping_log
from tare.storage.manifest import write_manifest
from tare.storage.pseudonymous import read_shown
from tare.storage.pseudonyms import keep_pseudonyms

_LOG = log.of("session")

Display = AbstractContextManager[Callable[[LoopState], None]]
"""Shows the progress of a campaign while entered."""


def blocks_begun_with(folder: Path, loaded: planning.Loaded) -> int | None:
    """Return the number of blocks if the campaign was begun with `--blocks`, so that a resume can reuse it.

    None if the number comes from the study itself.
    """
    if not is_campaign(folder):
        return None
    frozen, study = read_plan(folder).repeats, loaded.study.repeats
    return frozen.min if frozen != study and frozen == study.exactly(frozen.min) else None


def carry_out(
    folder: Path,
    loaded: planning.Loaded,
    display: Display,
    *,
    is_extending: bool = False,
    is_retrying_failed: bool = False,
    options: RunOptions = DEFAULT,
    log_level: int = logging.INFO,
) -> Campaign:
    """Run the part of the plan that remains in `folder` for a command, and return the campaign.

    It does what `run_session` does. An interrupt, by any signal, exits with 130.
    """
    how = " --retry-failed" if is_retrying_failed else ""
    with signals_as_interrupts(f"{folder}{how}"):
        return run_session(
            folder,
            loaded,
            display,
            is_extending=is_extending,
            is_retrying_failed=is_retrying_failed,
            options=options,
            log_level=log_level,
        )


def run_session(
    folder: Path,
    loaded: planning.Loaded,
    display: Display,
    *,
    is_extending: bool = False,
    is_retrying_failed: bool = False,
    options: RunOptions = DEFAULT,
    log_level: int = logging.INFO,
) -> Campaign:
    """Run the part of the plan that remains in `folder`, and return the campaign.

    Writes the campaign's log, down to `log_level`. Raises UsageError if the folder holds another campaign or
    a file that it would replace, or if the study now extends the campaign and `is_extending` is false.
    KeyboardInterrupt ends all running attempts, and they are recorded before it goes on.
    """
    require_independent(loaded, options)
    _require_installed(loaded)
    require_free(folder, loaded.texts)
    inputs = check_inputs(folder, loaded)
    for sentence in large_inputs(inputs):
        options.note(sentence)
    with open_journal(folder) as journal:
        old = plan_so_far(folder, loaded, journal.events) if is_campaign(folder) else loaded.plan
        require_same_study(folder, loaded, old, is_extending=is_extending)
        if old.profiled:  # runs that --profile asked for remain, also without it
            loaded = loaded.with_profile(begun=old.profiled)
        freeze(folder, loaded.plan, loaded.texts)
        if inputs is not None:
            store_inputs_record(folder, inputs)
        loaded = with_checksums(loaded, inputs)
        loaded = loaded.with_pseudonyms(keep_pseudonyms(folder, loaded.composer.pseudonyms.entries))
        before = (old.cases, old.repeats)
        is_plain = not is_retrying_failed and before == (loaded.plan.cases, loaded.plan.repeats)
        with keeping_log(folder, loaded.composer.pseudonyms, log_level):
            _run(
                folder,
                journal,
                loaded,
                display,
                is_plain=is_plain,
                is_retrying_failed=is_retrying_failed,
                options=options,
            )
    return read_shown(folder)


def _require_installed(loaded: planning.Loaded) -> None:
    """Raise LabError if an MPI or a root file system that Tare itself installs is missing."""
    site = loaded.composer.site
    if site.lab is None and site.agent:  # its nodes have their own file systems
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
    loaded: planning.Loaded,
    display: Display,
    *,
    is_plain: bool,
    is_retrying_failed: bool,
    options: RunOptions,
) -> None:
    log = _JournalLog(journal, folder)
    plan = loaded.plan.with_profiled_runs
    past = with_unrecorded(read_past(journal.events), folder, plan)
    now = time.time()
    continues = is_plain and continues_last_session(loaded.plan, past, now)
    session = past.n_sessions + (not continues)
    _LOG.info("session begins", extra=fields(session=session, tare=__version__, continues=continues))
    log.began(SessionBegan(now, __version__, VERSION, continues, loaded.plan.repeats.max, is_retrying_failed))
    with (
        make_executor(
            folder,
            loaded,
            options=_rehearsing(options, loaded, past.attempts),
            on_wait=_Waits(log, options.announce),
        ) as executor,
        display as progress,
    ):
        Loop(
            plan,
            log,
            executor,
            past=Past(past.attempts, past.begun, past.orders, past.passes, session),
            rule=planning.stopping_rule(loaded.plan),
            listener=Listener(
                on_progress=progress,
                on_remaining=_announce_repeats(past.attempts, options.announce),
                on_stopped=lambda reason: options.announce(f"stopped: {reason}"),
            ),
            is_retrying_failed=is_retrying_failed,
            started=_started(loaded) if options.is_rehearsing else None,
        ).run()


def _started(loaded: planning.Loaded) -> dict[str, tuple[str, ...]]:
    """Return the programs that each case of the plan starts, by case id."""
    return {
        case.id: tuple(stage.argv[0] for stage in loaded.composer.stages(case))
        for case in loaded.plan.with_profiled_runs.cases
    }


def _rehearsing(options: RunOptions, loaded: planning.Loaded, attempts: Sequence[Attempt]) -> RunOptions:
    """Return `options` with the cases to rehearse: those that never succeeded; none without rehearsal."""
    known = {one.case for one in attempts if one.state is State.DONE}
    new = tuple(case for case in loaded.plan.cases if case.id not in known)
    return options._replace(rehearsed=new if options.is_rehearsing else ())


def _announce_repeats(
    attempts: Sequence[Attempt], announce: Callable[[str], None]
) -> Callable[[Sequence[Passing], Sequence[str]], None]:
    """Return what announces which runs are repeated although they have a result, why, and how long it takes.

    In most sessions it announces nothing.
    """

    def announce_repeats(left: Sequence[Passing], warmup: Sequence[str]) -> None:
        for line in describe_repeats(left, warmup, attempts):
            announce(line)

    return announce_repeats


class _JournalLog:
    """The loop's log, written to the journal: ends of attempts are synced to disk, beginnings need not be."""

    def __init__(self, journal: Journal, folder: Path) -> None:
        self._journal = journal
        self._folder = folder

    def began(self, session: SessionBegan) -> None:
        """Record that a session begins."""
        self._journal.append(session)

    def block_began(self, block: int, order: list[str], again: list[str]) -> None:
        self._journal.append(BlockBegan(block, order, again), is_synced=False)

    def attempt_began(self, case: str, block: int, attempt: int, at: float) -> None:
        self._journal.append(AttemptBegan(case, block, attempt, at), is_synced=False)

    def attempt_waits(self, attempt: Attempt, reason: str, at: float) -> None:
        _LOG.info(
            "run waits" if reason else "run waits no more",
            extra=fields(case=attempt.case, block=attempt.block, reason=reason or None),
        )
        self._journal.append(
            AttemptWaits(attempt.case, attempt.block, attempt.attempt, at, reason), is_synced=False
        )

    def attempt_ended(self, attempt: Attempt) -> None:
        evidence = write_manifest(SafeFolder(self._folder, attempt.folder))
        self._journal.append(AttemptEnded(msgspec.structs.replace(attempt, evidence=evidence)))


class _Waits:
    """Records why attempts wait, and announces a reason once even if several attempts wait for it."""

    def __init__(self, log: _JournalLog, announce: Callable[[str], None]) -> None:
        self._log, self._announce = log, announce
        self._announced = ""

    def __call__(self, attempt: Attempt, reason: str) -> None:
        self._log.attempt_waits(attempt, reason, time.time())
        if reason and reason != self._announced:
            self._announce(f"waiting: {reason}")
        self._announced = reason
