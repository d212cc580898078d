"""Read the JSON files of a campaign, which another person or program may have written."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tare.core.errors import NOT_JSON, CampaignError
from tare.core.safe_folder import MOST_BYTES, SafeFolder

T = TypeVar("T")


def read_json(place: SafeFolder, kind: type[T], cure: str, limit: int = MOST_BYTES) -> T:
    """Return the value of type `kind` that a file holds.

    Raises OSError where it cannot be read, and CampaignError, with `cure`, where it holds something else.
    """
    try:
        return msgspec.json.decode(place.read(limit), type=kind)
    except RecursionError as error:
        raise CampaignError(f"{place.path}: damaged (nested too deeply); {cure}") from error
    except NOT_JSON as error:
        raise CampaignError(f"{place.path}: damaged ({error}); {cure}") from error
