"""Read and write the words and patterns that a campaign replaces by pseudonyms."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tare.core.errors import CampaignError, UnreadableFile
from tare.core.pseudonyms import MOST_ENTRIES, Pseudonyms, fault_of, merged
from tare.core.safe_folder import SafeFolder
from tare.storage.reading import read_json

REDACT = "redact.json"
_JOURNAL, _MOST_OF_LINE = "journal.jsonl", 64 * 1024


def read_pseudonyms(folder: Path, more: Iterable[str] = ()) -> Pseudonyms:
    """Return the pseudonyms of the campaign in `folder`, followed by `more` words and patterns.

    Raises CampaignError where the file is damaged.
    """
    cure = "delete it, and name the words again with --redact"
    kept = read_json(SafeFolder(folder, REDACT), Pseudonyms, cure) or Pseudonyms()
    if len(kept.entries) > MOST_ENTRIES or any(map(fault_of, kept.entries)):
        raise CampaignError(f"{folder / REDACT}: damaged (no words and patterns); delete it")
    return Pseudonyms(merged(kept.entries, more), kept.key or _key_of(folder))


def keep_pseudonyms(folder: Path, entries: Iterable[str]) -> Pseudonyms:
    """Store `entries` after those that the campaign in `folder` has already; return all."""
    known = read_pseudonyms(folder)
    pseudonyms = Pseudonyms(merged(known.entries, entries), known.key or secrets.token_hex(16))
    if pseudonyms.entries and pseudonyms != known:
        with CampaignError.for_files(folder):
            SafeFolder(folder, REDACT).replace(msgspec.json.encode(pseudonyms))
    return pseudonyms


def _key_of(folder: Path) -> str:
    """Return the key of a campaign that has none of its own: a hash of the first line of its journal."""
    try:
        with SafeFolder(folder, _JOURNAL).reader() as file:
            line = file.readline(_MOST_OF_LINE)
    except UnreadableFile as error:  # with another key, the same name would have another pseudonym
        raise CampaignError.from_os(folder, error) from error
    except OSError:
        return ""
    return hashlib.blake2b(line, digest_size=16).hexdigest() if line else ""
