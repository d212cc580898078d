"""The checksums of the files that an attempt left, in the form of sha256sum(1).

They are written when an attempt ends, and the journal holds the checksum of that list. So evidence that is
changed, removed or replaced later is found. A file that is added later is not evidence, and not a fault.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Iterator
from contextlib import ExitStack

import msgspec

from tare.core.campaign import Campaign
from tare.core.errors import OBSTACLES, STORAGE_FAULTS, CampaignError, UnreadableFile
from tare.core.safe_folder import SafeFolder

NAME = "SHA256SUMS"

MOST_FILES = 256
"""The most files of an attempt that are listed, outermost first; meshes have thousands of files."""

MOST_BYTES = 64 * 1024 * 1024
"""A larger file is not listed: a checkpoint is not evidence for a figure, and takes long to read."""

CHANGED = "changed since its run ended"

_DEPTH = 3
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def write_manifest(folder: SafeFolder) -> str:
    """Write the list of the attempt's files with their SHA-256; return the SHA-256 of the list, or "".

    The result is empty where there are no files, and where the program left something in the list's place.
    Raises CampaignError if the file system fails. Another file that cannot be read, such as a large one, is
    not listed.
    """
    with CampaignError.for_files(folder.root), ExitStack() as opened:
        try:
            kept = opened.enter_context(folder.kept_open())
        except OSError as error:
            if error.errno in STORAGE_FAULTS:
                raise
            return ""  # there is no such folder, or its program has closed it
        text = "".join(_lines(kept)).encode()
        if not text:
            return ""
        try:
            (kept / NAME).replace(text, is_synced=False)
        except OSError as error:
            if error.errno not in OBSTACLES:
                raise
            return ""
    return hashlib.sha256(text).hexdigest()


def _lines(folder: SafeFolder) -> Iterator[str]:
    """Yield a line for each file. Raises UnreadableFile if the file system fails."""
    for name, file in _files(folder):
        try:
            yield f"{_digest(file)}  {name}\n"
        except UnreadableFile:
            raise
        except OSError:
            continue


def check_manifest(folder: SafeFolder, digest: str) -> Iterator[tuple[str, str]]:
    """Yield each file of the attempt in `folder` that has changed since the attempt ended, with the reason.

    `digest` is the SHA-256 of the list of checksums, from the journal.
    """
    try:
        text = (folder / NAME).read(MOST_BYTES)
    except OSError as error:
        yield NAME, f"cannot be read: {error.strerror}"
        return
    if hashlib.sha256(text).hexdigest() != digest:
        yield NAME, CHANGED
        return
    for line in text.decode(errors="replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            yield NAME, CHANGED
            return
        try:
            if _digest(folder / match[2]) != match[1]:
                yield match[2], CHANGED
        except OSError as error:
            yield match[2], f"cannot be read: {error.strerror}"


def with_altered(campaign: Campaign) -> Campaign:
    """Return `campaign` with what is wrong with the evidence of its runs, judged by their lists alone.

    The listed files themselves are not read: tare.storage.verifying does that.
    """
    altered, unreadable = {}, {}
    for one in campaign.attempts:
        if not one.evidence:
            continue
        folder = SafeFolder(campaign.folder, one.folder)
        try:
            if what := _fault_of_list(folder, one.evidence):
                altered[one.folder] = what
        except OSError as error:
            unreadable[one.folder] = f"{NAME} cannot be read: {error.strerror}"
    return msgspec.structs.replace(campaign, altered=altered, unreadable=unreadable)


_UNKNOWN = STORAGE_FAULTS | {errno.EACCES, errno.EPERM}


def _fault_of_list(folder: SafeFolder, digest: str) -> str:
    """Return what is wrong with the list in `folder`, whose SHA-256 is to be `digest`; empty if nothing is.

    Raises OSError where that is unknown.
    """
    if not folder.is_folder():
        return "missing"
    try:
        text = (folder / NAME).read(MOST_BYTES)
    except OSError as error:
        if error.errno in _UNKNOWN:
            raise
        return "changed"
    return "" if hashlib.sha256(text).hexdigest() == digest else "changed"


def n_listed(folder: SafeFolder) -> int:
    """Return how many files the list in `folder` names; 0 where there is no list."""
    try:
        return (folder / NAME).read(MOST_BYTES).count(b"\n")
    except OSError:
        return 0


def _files(root: SafeFolder) -> list[tuple[str, SafeFolder]]:
    """Return the files in and below `root` by their names, outermost first, at most MOST_FILES.

    A folder that its program has closed is left out. Raises UnreadableFile if the file system fails.
    """
    found, folders = list[tuple[str, SafeFolder]](), [("", root)]
    for _ in range(_DEPTH):
        below = list[tuple[str, SafeFolder]]()
        for prefix, folder in folders:
            try:
                files, inner = folder.files_and_folders()
                found += [(prefix + one.name, one) for one in files if prefix + one.name != NAME]
                below += [(f"{prefix}{one.name}/", one) for one in inner]
            except UnreadableFile as error:
                if error.errno in STORAGE_FAULTS:
                    raise
            if len(found) >= MOST_FILES:
                return _plain(found)
        folders = below
    return _plain(found)


def _plain(files: list[tuple[str, SafeFolder]]) -> list[tuple[str, SafeFolder]]:
    return [one for one in files[:MOST_FILES] if one[0].isprintable()]


def _digest(one: SafeFolder) -> str:
    found = hashlib.sha256()
    for piece in one.pieces(MOST_BYTES):
        found.update(piece)
    return found.hexdigest()
