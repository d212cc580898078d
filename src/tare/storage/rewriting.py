"""Take what a campaign recorded into a new campaign whose cases have other ids.

Evidence is linked, not copied, where the file system allows it: a link is the same file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt
from tare.core.errors import CampaignError
from tare.core.safe_folder import SafeFolder
from tare.storage.campaign import ENVIRONMENTS
from tare.storage.inputs import INPUTS
from tare.storage.journal import AttemptBegan, AttemptWaits, BlockBegan, Event
from tare.storage.links import linked
from tare.storage.manifest import check_manifest
from tare.storage.pseudonyms import REDACT
from tare.storage.telemetry import keep_means, read_means

_DEPTH = 8
_MOST_COPIED = 1024 * 1024 * 1024
"""The most bytes of a file that is copied, where it cannot be linked."""


def with_cases(event: Event, ids: Mapping[str, str]) -> Event:
    """Return `event`, which ends no attempt, with the new ids of its cases, which `ids` has by the old."""
    match event:
        case BlockBegan():
            order, again = ([ids[case] for case in cases] for cases in (event.order, event.again))
            return msgspec.structs.replace(event, order=order, again=again)
        case AttemptBegan() | AttemptWaits():
            return msgspec.structs.replace(event, case=ids[event.case])
    return event


def keep_attempt(source: Path, into: Path, attempt: Attempt, case: str) -> None:
    """Take the files of an attempt of the campaign `source` into the campaign `into`, for the new id `case`.

    Raises CampaignError if they are not what they were when the attempt ended.
    """
    folder = SafeFolder(source, attempt.folder)
    target = SafeFolder(into, msgspec.structs.replace(attempt, case=case).folder)
    with CampaignError.for_files(source):
        for name, file in _files(folder):
            _take(file, target / name)
    if attempt.evidence:
        for name, what in check_manifest(target, attempt.evidence):
            raise CampaignError(
                f"{folder.path / name}: {what}; restore it (tare verify lists all such files)"
            )


def keep_records(source: Path, into: Path, ids: Mapping[str, str]) -> None:
    """Take what belongs to all runs: facts about nodes, pseudonyms, inputs, imported telemetry."""
    with CampaignError.for_files(source):
        root, target = SafeFolder(source), SafeFolder(into)
        for name in (REDACT, INPUTS):
            if (root / name).is_file():
                (target / name).replace((root / name).read())
        for file in (root / ENVIRONMENTS).files():
            _take(file, target / ENVIRONMENTS / file.name)
    if means := read_means(source):
        keep_means(into, {_renamed(folder, ids): one for folder, one in means.items()})


def _renamed(folder: str, ids: Mapping[str, str]) -> str:
    """Return the folder of an attempt, ``attempts/CASE/BLOCK.ATTEMPT``, with the new id of its case."""
    parts = folder.split("/")
    return "/".join(ids.get(part, part) for part in parts)


def _files(folder: SafeFolder, depth: int = _DEPTH) -> Iterator[tuple[str, SafeFolder]]:
    """Yield the files in and below `folder` by their names there; links and devices are none."""
    files, folders = folder.files_and_folders()
    yield from ((file.name, file) for file in files)
    for one in folders if depth else ():
        yield from ((f"{one.name}/{name}", file) for name, file in _files(one, depth - 1))


def _take(file: SafeFolder, target: SafeFolder) -> None:
    """Link `file` to `target`, or copy it where it cannot be linked."""
    if not linked(file.path, target):
        target.replace(file.read(_MOST_COPIED), is_synced=False)
