"""The record of a campaign's inputs, in ``inputs.json``: what they were when its first run began."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tare.core.errors import CampaignError
from tare.core.safe_folder import SafeFolder
from tare.storage.reading import read_json

INPUTS = "inputs.json"


class RecordedInput(msgspec.Struct, frozen=True, kw_only=True):
    """An input as it was: its name in the folders of runs, its path, files, bytes and checksum.

    `path` is as the study has it, with its placeholders filled.
    """

    name: str
    path: str
    n_files: int = msgspec.field(name="files")
    n_bytes: int = msgspec.field(name="bytes")
    sha256: str


class InputsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a campaign; relative paths begin at `folder`, that of the study."""

    folder: str
    inputs: tuple[RecordedInput, ...]


def read_inputs_record(folder: Path) -> InputsRecord | None:
    """Return the record of the campaign in `folder`; None if it has none. Raises CampaignError if damaged."""
    return read_json(SafeFolder(folder, INPUTS), InputsRecord, "restore it from a copy")


def store_inputs_record(folder: Path, record: InputsRecord) -> None:
    """Write the record of the campaign in `folder`. Raises DiskFull or CampaignError."""
    with CampaignError.for_files(folder):
        SafeFolder(folder, INPUTS).replace(msgspec.json.format(msgspec.json.encode(record), indent=1))
