"""Decide whether a study still is that of a campaign, extends it, or differs from it, and say in what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from tare.app import planning
from tare.config.changes import changed_entries
from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.pseudonyms import NO_PSEUDONYMS
from tare.core.redaction import redact_text
from tare.core.safe_folder import SafeFolder
from tare.storage.campaign import JOURNAL, has_begun, read_plan
from tare.storage.journal import Event, read_events
from tare.storage.pseudonymous import PseudonymousView


def require_same_study(folder: Path, loaded: planning.Loaded, old: Plan, *, is_extending: bool) -> None:
    """Raise UsageError, with what changed, unless the study is that of `old`, or extends it as is allowed."""
    try:
        _require_same(old, loaded.plan, folder, is_extending=is_extending)
    except UsageError as error:
        raise UsageError(_with_changes(str(error), _changes(folder, loaded, old), folder)) from None


_MOST_CHANGES = 5
_OF_READING = re.compile(r"study\.yaml: workloads\.[^.:\[]+\.(?:foms|checks|output)\b")
"""The beginning of a change that concerns only how outputs are read."""


def _with_changes(message: str, changes: Sequence[str], folder: Path) -> str:
    """Return `message`, followed by one line for each change since the campaign was begun, and the cure."""
    rest = len(changes) - _MOST_CHANGES
    more = [f"and {rest} more"] if rest > 0 else []
    if changes and all(map(_OF_READING.match, changes)):
        more.append(f"to read what was printed anew, without a run: tare reparse {folder} STUDY --out DIR")
    return "\n  ".join((message, *map(redact_text, changes[:_MOST_CHANGES]), *more))


def _changes(folder: Path, loaded: planning.Loaded, old: Plan) -> list[str]:
    """Return what changed in the study and site files; if nothing did, what changed in the cases."""
    found = []
    for name, text in loaded.texts.items():
        if SafeFolder(folder, name).is_file():
            before = SafeFolder(folder, name).read().decode("utf-8-sig", errors="replace")
            found += [f"{name}: {one}" for one in changed_entries(before, text)]
    return found or list(_changed_cases(old, loaded.plan))


def _changed_cases(old: Plan, new: Plan) -> Iterator[str]:
    """Yield how the first case that is no longer planned differs from the most similar new case."""
    known, kept = {case.id for case in new.cases}, {case.id for case in old.cases}
    lost = [case for case in old.cases if case.id not in known]
    gained = [case for case in new.cases if case.id not in kept]
    if not lost or not gained:
        return
    before = _facts(lost[0])
    after = min((_facts(case) for case in gained), key=lambda one: len(before.items() ^ one.items()))
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    for name in names:
        yield f"{name}: {before.get(name, 'not there')}, now {after.get(name, 'not there')}"
    if not names:
        yield f"the definition of workload {lost[0].workload}, in another version of Tare or of a plugin"


def _facts(case: Case) -> dict[str, str]:
    """Return everything that identifies a case except the definition of its workload."""
    rows = {**case.settings, "bind": case.layout.bind}
    return {name: str(value) for name, value in rows.items()}


_MAY_CHANGE = (
    *("cases", "repeats", "varied", "foms"),  # checked before, or they follow from the cases
    *("telemetry", "notes", "left_out", "is_profiled", "profiled"),  # they do not change what is run
    *("scaling", "sizes", "links", "peaks", "kinds", "derived", "together", "sending"),  # only for analysis
)
"""The fields of a plan that a study may change without --extend."""


def _require_same(old: Plan, new: Plan, folder: Path, *, is_extending: bool) -> None:
    """Raise UsageError unless `new` equals `old`, or extends it and `is_extending` is true."""
    lost = {case.id for case in old.cases} - {case.id for case in new.cases}
    if lost:
        shown = PseudonymousView(NO_PSEUDONYMS).plan(old)
        example = next(case for case in shown.cases if case.id in lost)
        cases, them = count(len(lost), "case"), "it" if len(lost) == 1 else "them"
        raise UsageError(
            f"{folder} holds {cases} that the study no longer has, such as {shown.describe(example)}; "
            f"restore {them}, or choose another --out"
        )
    has_fewer = new.repeats.max < old.repeats.max
    if has_fewer:
        raise UsageError(
            f"{folder} has {count(old.repeats.max, 'block')} planned; the study now asks for "
            f"{new.repeats.max}; add --blocks {old.repeats.max}, or let 'repeats' ask for as many"
        )
    grown = len(new.cases) > len(old.cases) or new.repeats != old.repeats
    if grown and not is_extending:
        raise UsageError(
            f"{folder} holds another state of this study ({_extent(old)}; now {_extent(new)}); "
            "add --extend to extend it, or choose another --out"
        )
    accepted = {name: getattr(old, name) for name in _MAY_CHANGE}
    rest = msgspec.structs.replace(new, **accepted)
    if rest != old and not is_extending:
        raise UsageError(f"{folder}: the study's settings have changed since; add --extend to accept them")


def plan_so_far(folder: Path, loaded: planning.Loaded, events: Iterable[Event]) -> Plan:
    """Return the plan of the campaign in `folder`; the new one of its study if nothing of it has ever run."""
    old = read_plan(folder)
    is_same_study = old.study == loaded.plan.study
    return old if has_begun(folder, events) or not is_same_study else loaded.plan


def is_extension(folder: Path, loaded: planning.Loaded) -> bool:
    """Return whether resuming in `folder` needs --extend.

    Raises UsageError if the folder holds another campaign.
    """
    old = plan_so_far(folder, loaded, read_events(folder / JOURNAL))
    _require_same(old, loaded.plan, folder, is_extending=True)
    try:
        _require_same(old, loaded.plan, folder, is_extending=False)
    except UsageError:
        return True
    return False


def _extent(plan: Plan) -> str:
    repeats = plan.repeats
    blocks = str(repeats.min) if repeats.min == repeats.max else f"{repeats.min} to {repeats.max}"
    return f"{count(len(plan.cases), 'case')} × {blocks} {'block' if repeats.max == 1 else 'blocks'}"
