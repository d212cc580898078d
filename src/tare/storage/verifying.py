"""Compare a campaign folder with what its journal says was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.errors import CampaignError, UnreadableFile
from tare.core.safe_folder import SafeFolder
from tare.storage import sealing
from tare.storage.campaign import ENVIRONMENTS, JOURNAL, read_plan, unrecorded_folders
from tare.storage.journal import (
    MOST_BYTES,
    AttemptEnded,
    DamagedLine,
    Event,
    LineReader,
    has_sum,
    is_held,
)
from tare.storage.journal_state import JournalState, Key, key_of
from tare.storage.manifest import check_manifest, n_listed


class Discrepancy(NamedTuple):
    """A file or line that differs from what was written: where, relative to the campaign folder, and how."""

    where: str
    what: str


class Verification(NamedTuple):
    """The result: the faults, how many runs and files were checked, and what has no checksum.

    `n_unsummed` counts lines of the journal without a checksum, as version 0.1.0 wrote them. `n_unlisted`
    counts runs without a list of checksums. Changes to those cannot be detected.
    """

    faults: tuple[Discrepancy, ...]
    n_lines: int
    n_unsummed: int
    n_runs: int
    n_unlisted: int
    n_files: int


def verify(folder: Path) -> Verification:
    """Compare everything in the campaign `folder` with its checksums. Raises CampaignError if it is none.

    A campaign may run meanwhile. So its files are read in the opposite of the order in which a run makes
    them: the plan, a line of the journal, then a folder. What is read later is then complete.
    """
    root = SafeFolder(folder)
    in_folders, in_journal, faults = list[Discrepancy](), list[Discrepancy](), list[Discrepancy]()
    is_growing = is_held(folder / JOURNAL)
    folders = _folders(root, in_folders)
    lines, events = _read_lines(root / JOURNAL, in_journal, is_growing=is_growing)
    try:
        plan = read_plan(folder)
    except CampaignError as error:
        if not (root / JOURNAL).is_file():
            raise
        faults.append(Discrepancy("plan.json", str(error)))
        plan = None
    faults += in_journal
    state = JournalState(events)
    attempts = state.current_attempts(is_running=False)
    ended = [one for one in attempts if one.state is not State.LOST]
    if plan is not None:
        known = {case.id for case in (*plan.cases, *plan.profiled)}
        faults += [
            Discrepancy(one.folder, "its case is not in the plan")
            for one in attempts
            if one.case not in known
        ]
    faults += list(_environments(root / ENVIRONMENTS, ended))
    for one in ended:
        faults += [
            Discrepancy(f"{one.folder}/{name}".rstrip("/"), what) for name, what in _evidence(root, one)
        ]
    recorded = {one.folder for one in attempts}
    in_folders += [
        Discrepancy(name, "no line of the journal names it") for name in folders if name not in recorded
    ]
    faults += in_folders
    return Verification(
        faults=tuple(faults),
        n_lines=len(lines),
        n_unsummed=sum(not has_sum(line) for line in lines),
        n_runs=len(ended),
        n_unlisted=sum(not one.evidence and one.source is None for one in ended),
        n_files=sum(n_listed(root / one.folder) for one in ended if one.evidence),
    )


def _read_lines(
    journal: SafeFolder, faults: list[Discrepancy], *, is_growing: bool
) -> tuple[list[bytes], list[Event]]:
    """Return the lines and the readable events; what is wrong with other lines is added to `faults`.

    A last line without its end is just being written if the journal `is_growing`.
    """
    try:
        lines = list(journal.lines(MOST_BYTES))
    except FileNotFoundError:
        return [], []
    except OSError as error:
        faults.append(Discrepancy(JOURNAL, f"cannot be read: {error.strerror}"))
        return [], []
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
        if not is_growing:
            faults.append(Discrepancy(f"{JOURNAL}:{len(lines) + 1}", "cut short, as a crash leaves a line"))
    lines = [line[:-1] for line in lines]
    reader, events, ended = LineReader(), list[Event](), set[Key]()
    for number, line in enumerate(lines, 1):
        try:
            event = reader.read(line)
        except DamagedLine as error:
            faults.append(Discrepancy(f"{JOURNAL}:{number}", f"damaged: {error}"))
            continue
        events.append(event)
        if isinstance(event, AttemptEnded):
            key = key_of(event.attempt)
            if key in ended:
                what = f"{event.attempt.folder} had ended before; are two journals in this one?"
                faults.append(Discrepancy(f"{JOURNAL}:{number}", what))
            ended.add(key)
        if not has_sum(line):
            raw = json.loads(
                line.decode(errors="replace"), parse_int=str, parse_float=str
            )  # only the names matter
            faults += [
                Discrepancy(f"{JOURNAL}:{number}", f"holds {name}, which no version of tare writes: damaged?")
                for name in _unknown(raw, event)
            ]
    return lines, events


def _folders(root: SafeFolder, faults: list[Discrepancy]) -> list[str]:
    """Return the folders of attempts; where they cannot be listed, that is added to `faults`."""
    found = list[str]()
    try:
        found.extend(unrecorded_folders(root, ()))
    except UnreadableFile as error:
        where = Path(str(error.filename)).relative_to(root.root).as_posix()
        faults.append(Discrepancy(where, f"cannot be read: {error.strerror}"))
    return found


def _unknown(raw: Any, known: Any, at: str = "") -> Iterator[str]:
    """Yield the fields of `raw` that are missing in `known`, the value that was decoded from it."""
    if isinstance(known, msgspec.Struct) and isinstance(raw, dict):
        fields = {field.encode_name: field.name for field in msgspec.structs.fields(known)}
        for name, value in raw.items():
            if name in fields:
                yield from _unknown(value, getattr(known, fields[name]), f"{at}{name}.")
            elif name != "event":
                yield f"{at}{name}"
    elif isinstance(known, list | tuple) and isinstance(raw, list):
        for one, other in zip(raw, known, strict=False):
            yield from _unknown(one, other, at)


def _environments(root: SafeFolder, ended: Iterable[Attempt]) -> Iterator[Discrepancy]:
    """Yield what is wrong with the files of node facts, each of which is named by the hash of its content."""
    for name in sorted({one.environment for one in ended if one.environment}):
        one = root / f"{name}.json"
        try:
            data = one.read()
        except OSError as error:
            yield Discrepancy(f"{root.name}/{one.name}", f"cannot be read: {error.strerror}")
            continue
        if hashlib.blake2b(data, digest_size=8).hexdigest() != name:
            yield Discrepancy(f"{root.name}/{one.name}", "changed since it was written")


def _evidence(root: SafeFolder, attempt: Attempt) -> Iterator[tuple[str, str]]:
    """Yield each file of an attempt that has changed, and what is wrong with it."""
    folder = root / attempt.folder
    if attempt.evidence:
        yield from check_manifest(folder, attempt.evidence)
    elif attempt.source is not None:
        try:
            sums = {hashlib.sha256(one.read()).hexdigest() for one in folder.files()}
        except OSError as error:
            yield "", f"cannot be read: {error.strerror}"
            return
        if attempt.source.sha256 not in sums:
            yield "", f"the file that was imported, {attempt.source.path}, is not there any more, or changed"


def seal_faults(
    root: SafeFolder, signers: Path | None = None, signer: str = ""
) -> tuple[str, list[Discrepancy]]:
    """Return who sealed the campaign, and what is wrong with the seal; ("", []) without a seal.

    If `signers` are given, a seal is required, and it must be signed by `signer` (see sealing.signer_of).
    """
    try:
        if not sealing.is_sealed(root):
            missing = Discrepancy(sealing.SEAL, f"it is not sealed by {signer}, nor by anybody")
            return "", [missing] if signers else []
        sealed_by = sealing.signer_of(root, signers, signer)
        return sealed_by, [Discrepancy(*one) for one in sealing.broken(root)]
    except CampaignError as error:
        return "", [Discrepancy(sealing.SEAL, str(error))]
    except OSError as error:
        return "", [Discrepancy(sealing.SEAL, f"cannot be read: {error.strerror}")]
