"""Read and write the words and patterns that a campaign replaces by pseudonyms."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tare.core.errors import CampaignError
from tare.core.pseudonyms import MOST_ENTRIES, Pseudonyms, fault_of, merged
from tare.core.safe_folder import SafeFolder
from tare.storage.reading import read_json

SIGNS = "redact.json"
_JOURNAL, _MOST_OF_LINE = "journal.jsonl", 64 * 1024


def read_signs(folder: Path, more: Iterable[str] = ()) -> Pseudonyms:
    """Return the pseudonyms of the campaign in `folder`, followed by `more` words and patterns.

    Raises CampaignError where the file is damaged.
    """
    cure = "delete it, and name the words again with --redact"
    kept = read_json(SafeFolder(folder, SIGNS), Pseudonyms, cure) or Pseudonyms()
    if len(kept.entries) > MOST_ENTRIES or any(map(fault_of, kept.entries)):
        raise CampaignError(f"{folder / SIGNS}: damaged (no words and patterns); delete it")
    return Pseudonyms(merged(kept.entries, more), kept.key or _key_of(folder))


def keep_signs(folder: Path, entries: Iterable[str]) -> Pseudonyms:
    """Store `entries` after those that the campaign in `folder` has already; return all."""
    known = read_signs(folder)
    signs = Pseudonyms(merged(known.entries, entries), known.key or secrets.token_hex(16))
    if signs.entries and signs != known:
        with CampaignError.for_writes(folder):
            SafeFolder(folder, SIGNS).replace(msgspec.json.encode(signs))
    return signs


def _key_of(folder: Path) -> str:
    """Return the key of a campaign that has none of its own: a hash of the first line of its journal."""
    try:
        with SafeFolder(folder, _JOURNAL).reader() as file:
            line = file.readline(_MOST_OF_LINE)
    except OSError:
        return ""
    return hashlib.blake2b(line, digest_size=16).hexdigest() if line else ""
