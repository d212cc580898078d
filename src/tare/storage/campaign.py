"""Make, read and freeze campaign folders.

`freeze` writes the plan and the files of a campaign. `read_campaign` returns all that the folder holds as a
`Campaign`, also while the campaign runs::

    campaign = read_campaign(folder)
    campaign.measured()  # the attempts that count
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign, Environment, Reparse
from tare.core.case import Pass
from tare.core.collection import no_collection
from tare.core.errors import CampaignError, NoCampaign, UsageError
from tare.core.plan import Plan
from tare.core.safe_folder import SafeFolder
from tare.core.values import MOST_RUNS
from tare.storage.journal import (
    AttemptBegan,
    AttemptEnded,
    AttemptWaits,
    BlockBegan,
    Event,
    Journal,
    SessionBegan,
    is_held,
    read_events,
)
from tare.storage.journal_state import JournalState, key_of
from tare.storage.profiled_runs import profiled_attempts, without_profiled
from tare.storage.reading import read_json
from tare.storage.sessions import with_passes
from tare.storage.telemetry import read_means

JOURNAL = "journal.jsonl"
PLAN = "plan.json"
ENVIRONMENTS = "environments"
REPARSE = "reparse.json"


_ATTEMPT = re.compile(r"attempts/(?P<case>[^/]+)/(?P<block>0|-?[1-9]\d{0,8})\.(?P<attempt>[1-9]\d{0,8})")


def is_campaign(folder: Path) -> bool:
    """Return whether `folder` holds a campaign. Raises UnreadableFile where that is unknown."""
    return SafeFolder(folder, PLAN).is_file()


def is_begun(folder: Path) -> bool:
    """Return whether `folder` holds what a campaign has before its plan is written: an empty journal first.

    So a command leaves it that is killed at that time.
    """
    journal = SafeFolder(folder, JOURNAL)
    return not is_campaign(folder) and journal.is_file() and journal.status().st_size == 0


def file_numbers(folder: Path) -> str:
    """Return the inode numbers of a campaign's folder and journal; empty if it has no journal.

    They are the same on all hosts that share the folder. A copy of the folder has others.
    """
    try:
        return f"{folder.stat().st_ino}-{(folder / JOURNAL).stat().st_ino}"
    except OSError:
        return ""


def open_journal(folder: Path) -> Journal:
    """Make `folder` if it does not exist, and lock its journal against all other processes."""
    with CampaignError.for_files(folder):
        SafeFolder(folder).make_folder()
        return Journal(folder / JOURNAL)


def require_free(folder: Path, texts: dict[str, str]) -> None:
    """Raise UsageError if a new campaign in `folder` would replace a file of somebody else.

    `texts` are what `freeze` will write there. A folder with a journal has a campaign, or had the beginning
    of one.
    """
    with CampaignError.for_files(folder):
        if any(SafeFolder(folder, name).exists() for name in (PLAN, JOURNAL)):
            return
        for name, text in texts.items():
            if SafeFolder(folder, name).exists() and not _holds(SafeFolder(folder, name), text.encode()):
                raise UsageError(
                    f"{folder / name}: not of this campaign, which would replace it; choose another --out, "
                    "or move the file away"
                )


def _holds(file: SafeFolder, content: bytes) -> bool:
    return file.is_file() and file.read() == content


def freeze(folder: Path, plan: Plan, texts: dict[str, str]) -> None:
    """Write the plan, and the study and site files as they are now (`texts` by file name).

    Each file is replaced as a whole or not at all. Raises DiskFull or CampaignError.
    """
    with CampaignError.for_files(folder):
        for name, text in texts.items():
            SafeFolder(folder, name).replace(text.encode())
        SafeFolder(folder, PLAN).replace(msgspec.json.format(msgspec.json.encode(plan), indent=1))


def store_reparse(folder: Path, record: Reparse) -> None:
    """Write where the figures of the campaign in `folder` were read anew from."""
    with CampaignError.for_files(folder):
        SafeFolder(folder, REPARSE).replace(msgspec.json.encode(record))


def read_plan(folder: Path) -> Plan:
    """Return the frozen plan of the campaign in `folder`. Raises NoCampaign if it never held a campaign."""
    with CampaignError.for_files(folder):
        if SafeFolder(folder).exists() and not SafeFolder(folder).is_folder():
            raise NoCampaign(folder, f"{PLAN}: {os.strerror(errno.ENOTDIR)}")
    plan = read_json(SafeFolder(folder, PLAN), Plan, "restore it from a copy")
    if plan is None:
        missing = os.strerror(errno.ENOENT)
        if not SafeFolder(folder, JOURNAL).exists():
            raise NoCampaign(folder, f"{PLAN}: {missing}")
        if is_begun(folder):
            raise NoCampaign(folder, f"{PLAN} is not written yet")
        raise CampaignError(f"{folder / PLAN}: {missing}; restore it from a copy")
    if fault := _fault_of(plan):
        raise CampaignError(f"{folder / PLAN}: damaged ({fault}); restore it")
    return plan


_MOST_WHOLE = 10**18
"""Above any whole number that a study may give."""


def _fault_of(plan: Plan) -> str:
    """Return what no plan of Tare has; empty if `plan` is sound."""
    repeats = plan.repeats
    numbers = (plan.seed, plan.warmup, plan.retries, repeats.min, repeats.max, repeats.budget.runs or 0)
    if max(numbers) > _MOST_WHOLE:
        return "a whole number of more than 18 digits"
    if min(numbers) < 0:
        return "a count below zero"
    if plan.is_too_large:
        return f"{plan.n_runs_at_most:.3g} runs, more than the {MOST_RUNS} that can be"
    twice = [case for case, n in Counter(one.id for one in (*plan.cases, *plan.profiled)).items() if n > 1]
    return f"it has the case {twice[0]} twice" if twice else ""


@no_collection()
def read_campaign(folder: Path) -> Campaign:
    """Return the campaign in `folder` up to now, also while it runs.

    An attempt that began and did not end is RUNNING while a live process runs the campaign, and LOST
    otherwise. Raises CampaignError when the folder holds no campaign or is damaged.
    """
    plan = read_plan(folder)
    is_running = is_held(folder / JOURNAL)
    events = read_events(folder / JOURNAL) if SafeFolder(folder, JOURNAL).exists() else ()
    if _unknown_case(plan, events) is not None:
        plan = read_plan(folder)  # a session that has just begun may have added cases to it
    if (unknown := _unknown_case(plan, events)) is not None:
        raise CampaignError(
            f"{folder / JOURNAL}: names the case {unknown}, which {PLAN} does not have; restore both from "
            "one copy"
        )
    state = JournalState(without_profiled(events, plan))
    attempts = with_passes(state.current_attempts(is_running=is_running))
    if means := read_means(folder):
        attempts = tuple(msgspec.structs.replace(one, imported=means.get(one.folder, {})) for one in attempts)
    whole = JournalState(events if plan.profiled else ())
    return Campaign(
        folder=folder,
        plan=plan,
        attempts=attempts,
        profiled_attempts=profiled_attempts(plan, whole, is_running=is_running),
        orders=state.orders,
        sessions=tuple(state.session_reader.sessions),
        environments=_read_environments(folder),
        is_running=is_running,
        reparse=read_json(SafeFolder(folder, REPARSE), Reparse, "delete it"),
    )


def _unknown_case(plan: Plan, events: tuple[Event, ...]) -> str | None:
    """Return a case that the journal names and the plan does not have; None where there is none."""
    named = {event.case for event in events if isinstance(event, AttemptBegan | AttemptWaits)}
    named |= {event.attempt.case for event in events if isinstance(event, AttemptEnded)}
    named |= {case for event in events if isinstance(event, BlockBegan) for case in event.order}
    return min(named - {case.id for case in (*plan.cases, *plan.profiled)}, default=None)


class RecordedCampaign(NamedTuple):
    """What a process that continues a campaign needs to know from its journal.

    `begun` are the attempts without a recorded end. `passes` holds, by pass, the cases that the pass was to
    run once more. `last_at` is when the last attempt ended or began. `last_block` is the block of the attempt
    that began last. Both are None before the first attempt.
    """

    attempts: tuple[Attempt, ...]
    begun: tuple[Attempt, ...]
    orders: dict[int, list[str]]
    passes: dict[Pass, list[str]]
    n_sessions: int
    last_at: float | None
    last_block: int | None


def read_past(events: Iterable[Event]) -> RecordedCampaign:
    """Return what a process that continues the campaign needs to know from `events`."""
    state = JournalState(events)
    attempts = with_passes(state.current_attempts(is_running=False))
    return RecordedCampaign(
        attempts=attempts,
        begun=tuple(one for one in attempts if key_of(one) in state.under_way),
        orders=state.orders,
        passes=state.passes,
        n_sessions=len(state.session_reader.sessions),
        last_at=state.session_reader.last_at,
        last_block=state.session_reader.last_block,
    )


def has_begun(folder: Path, events: Iterable[Event]) -> bool:
    """Return whether a block or a run of the campaign began, by its journal or by an attempt's folder."""
    if any(not isinstance(one, SessionBegan) for one in events):
        return True
    return next(unrecorded_folders(SafeFolder(folder), ()), None) is not None


def unrecorded_folders(root: SafeFolder, attempts: Iterable[Attempt]) -> Iterator[str]:
    """Yield the folders of attempts in the campaign `root` that no line of the journal names."""
    known = {one.folder for one in attempts}
    for case in (root / "attempts").folders():
        for one in case.folders():
            name = f"attempts/{case.name}/{one.name}"
            if name not in known:
                yield name


def with_unrecorded(past: RecordedCampaign, folder: Path, plan: Plan) -> RecordedCampaign:
    """Return `past` plus the attempts of the plan that only a folder shows, as begun and not ended.

    The line that says that an attempt began is not synced: when a machine loses power, the line may be lost
    while the folder stays.
    """
    cases = {case.id for case in (*plan.cases, *plan.profiled)}
    found = []
    for name in unrecorded_folders(SafeFolder(folder), past.attempts):
        match = _ATTEMPT.fullmatch(name)
        if match and match["case"] in cases:
            attempt = Attempt(
                case=match["case"],
                block=int(match["block"]),
                attempt=int(match["attempt"]),
                state=State.LOST,
                reason="its folder exists, and no line of the journal names it",
                started_at=None,
                session=past.n_sessions,
            )
            found.append(attempt)
    return past._replace(attempts=(*past.attempts, *found), begun=(*past.begun, *found))


def store_environment(folder: Path, environment: Environment) -> str:
    """Write `environment` once, named by the hash of its content; return the hash."""
    data = msgspec.json.format(msgspec.json.encode(environment, order="sorted"), indent=1)
    name = hashlib.blake2b(data, digest_size=8).hexdigest()
    file = SafeFolder(folder, ENVIRONMENTS, f"{name}.json")
    if not file.is_file():
        with CampaignError.for_files(folder):
            file.replace(data)
    return name


def read_environment(folder: Path, name: str) -> Environment:
    """Return the environment that `store_environment` wrote under this hash. Raises CampaignError."""
    file = SafeFolder(folder, ENVIRONMENTS, f"{name}.json")
    found = read_json(file, Environment, "delete it: figures do not depend on it")
    if found is None and not folder.exists():
        raise CampaignError.gone(folder)
    if found is None:
        raise CampaignError(f"{file.path}: cannot read: {os.strerror(errno.ENOENT)}")
    return found


def _read_environments(folder: Path) -> dict[str, Environment]:
    with CampaignError.for_files(folder):
        names = [one.name.removesuffix(".json") for one in SafeFolder(folder, ENVIRONMENTS).files("*.json")]
    return {name: read_environment(folder, name) for name in names}
