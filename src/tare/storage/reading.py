"""Read the JSON files of a campaign, which another person or program may have written."""

from __future__ import annotations

from typing import TypeVar

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, STORAGE_FAULTS, CampaignError
from tare.core.safe_folder import SafeFolder

T = TypeVar("T")


def read_json(file: SafeFolder, kind: type[T], cure: str) -> T | None:
    """Return the value of type `kind` that a file holds; None where there is no such file.

    Raises CampaignError, with `cure`, where the file cannot be read or holds something else.
    """
    try:
        return decode_json(file.read(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        what = f"{error.filename}: cannot read: {error.strerror}"
        # A disk that fails for a moment is no reason to delete, for example, the words to hide.
        raise CampaignError(what if error.errno in STORAGE_FAULTS else f"{what}; {cure}") from error
    except RecursionError as error:
        raise CampaignError(f"{file.path}: damaged (nested too deeply); {cure}") from error
    except NOT_JSON as error:
        raise CampaignError(f"{file.path}: damaged ({error}); {cure}") from error
