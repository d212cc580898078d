"""Run a study, and tell the caller of each event."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path

import msgspec

from tare.api.arguments import campaign_folder, count, options_as_arguments, redactions
from tare.api.campaign import Campaign
from tare.api.study_plan import StudyLike, StudyPlan, plan_study
from tare.app import planning
from tare.app.run_options import RunOptions
from tare.app.session import run_session
from tare.core.attempt import State
from tare.core.case import Case
from tare.core.errors import UsageError
from tare.core.pseudonyms import Pseudonyms, merged
from tare.core.units import format_seconds
from tare.execution.loop_interface import LoopState


class EventKind(enum.StrEnum):
    """What an event of a session tells."""

    BEGINS = "begins"
    """A run is about to begin."""
    ENDED = "ended"
    """A run has ended."""
    NOTE = "note"
    """A sentence on the session, such as why runs wait or why it stops."""


class RunEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a session; as text, a line as `tare run` prints it.

    - `n_done` of `n_runs` runs are done; `eta_s` is the remaining time in seconds, None until it is known.
      `eta_is_least` where precision may ask for more runs than it holds.
    - `case` is the id of the case, `what` its settings in a few words. `block` counts from 1; 0 and below are
      warm-up.
    - `state` is ``done``, ``failed`` or ``invalid``, `reason` says why a run is not done, and `elapsed_s` is
      how many seconds it took.
    - `text` is the sentence of a note.

    What an event does not have is None, or empty if it is text.
    """

    kind: EventKind
    n_done: int | None = None
    n_runs: int | None = None
    eta_s: float | None = None
    eta_is_least: bool = False
    case: str = ""
    what: str = ""
    block: int | None = None
    state: str = ""
    reason: str = ""
    elapsed_s: float | None = None
    text: str = ""

    def __str__(self) -> str:
        if self.kind is EventKind.NOTE:
            return self.text
        block = "warm-up" if self.block is not None and self.block < 1 else f"block {self.block}"
        parts = [f"[{self.n_done}/{self.n_runs}] {block}", self.what, self.state or "begins"]
        parts += [format_seconds(self.elapsed_s)] if self.elapsed_s is not None else []
        parts += [self.reason] if self.reason else []
        return "  ".join(parts)


def run_study(
    study: StudyPlan | StudyLike,
    folder: str | os.PathLike[str] | None = None,
    *,
    on_event: Callable[[RunEvent], object] | None = None,
    blocks: int | None = None,
    extend: bool = False,
    retry_failed: bool = False,
    jobs: int = 1,
    boost: bool = True,
    rehearsal: bool = True,
    keep_storage: bool = False,
    profile: bool = False,
    redact: Iterable[str] = (),
) -> Campaign:
    """Run what remains of `study` in the campaign `folder`, as `tare run` does, and return the campaign.

    `study` is a plan, or what `plan_study` takes; for a campaign folder, `folder` may be left out. Finished
    runs are not repeated: the same call continues after an interruption. The other parameters are the options
    of `tare run` with these names. It prints nothing; `on_event` is called in this thread with each event,
    such as ``on_event=print``. If it raises, the session ends with that error; the same call continues.

    Runs that fail do not raise: look at `runs()` of the campaign. Raises FileFaults with every fault of the
    study, UsageError if the folder holds another campaign or programs are missing, CampaignLocked if another
    process runs it, DiskFull or another InfrastructureError if the infrastructure fails. KeyboardInterrupt
    ends all running programs, and they are recorded before it goes on. Handlers of signals are not changed.
    """
    jobs, redacted = count("jobs", jobs), redactions(redact)
    folder = None if folder is None else campaign_folder("folder", folder)
    if on_event is not None and not callable(on_event):
        raise TypeError(f"on_event={on_event!r}: give what can be called, such as on_event=print")
    if isinstance(study, StudyPlan) and blocks is not None:
        raise UsageError("blocks is for a study that is not planned yet; give it to plan_study")
    plan = study if isinstance(study, StudyPlan) else _planned(study, folder, blocks, extend=extend)
    target = _target(study, folder)
    loaded = plan._loaded.with_profile() if profile else plan._loaded
    entries = merged(loaded.composer.pseudonyms.entries, redacted)
    report = _Reporter(plan, on_event or _ignore)
    with options_as_arguments():
        campaign = run_session(
            target,
            loaded.with_pseudonyms(Pseudonyms(entries)),
            nullcontext(report),
            is_extending=extend,
            is_retrying_failed=retry_failed,
            options=RunOptions(
                jobs=jobs,
                keeps_storage=keep_storage,
                boosts=boost,
                is_rehearsing=rehearsal,
                announce=report.note,
                note=report.note,
            ),
        )
    return Campaign(campaign)


def _planned(
    study: StudyLike, folder: str | os.PathLike[str] | None, blocks: int | None, *, extend: bool
) -> StudyPlan:
    """Return the plan of `study`; an extended campaign folder has the blocks that its study asks for."""
    if extend and blocks is None and isinstance(study, (str, os.PathLike)) and Path(study).is_dir():
        return StudyPlan(planning.load(Path(study)))
    return plan_study(study, blocks=blocks, campaign=folder)


def _target(study: StudyPlan | StudyLike, folder: str | os.PathLike[str] | None) -> Path:
    """Return the campaign folder. Raises UsageError where none is named, or two are."""
    own = Path(study) if isinstance(study, (str, os.PathLike)) and Path(study).is_dir() else None
    if folder is None:
        if own is None:
            raise UsageError("name the campaign's folder: run_study(study, 'campaigns/NAME')")
        return own
    if own is not None:
        planning.require_one_folder(own, Path(folder), str(folder))
    return Path(folder)


class _Reporter:
    """Turns the progress of the loop, and its sentences, into events."""

    def __init__(self, plan: StudyPlan, on_event: Callable[[RunEvent], object]) -> None:
        self._shown, self._on_event = plan._plan, on_event

    def __call__(self, progress: LoopState) -> None:
        """Report the beginning or the end of an attempt."""
        last = progress.last
        self._on_event(
            RunEvent(
                kind=EventKind.BEGINS if last is None else EventKind.ENDED,
                n_done=progress.n_done,
                n_runs=progress.n_runs,
                eta_s=progress.eta_s,
                eta_is_least=progress.eta_s is not None and progress.is_least,
                case=progress.case.id,
                what=self._describe(progress.case),
                block=progress.run.block,
                state="" if last is None else last.state.value,
                reason="" if last is None or last.state is State.DONE else last.reason,
                elapsed_s=None if last is None else last.elapsed_s,
            )
        )

    def _describe(self, case: Case) -> str:
        return self._shown.describe(self._shown.cases_by_id.get(case.id, case))

    def note(self, text: str) -> None:
        """Report a sentence on the session."""
        self._on_event(RunEvent(kind=EventKind.NOTE, text=text))


def _ignore(event: RunEvent) -> None:
    """Do nothing with an event."""
