"""How the runs of a campaign are said to have been made."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.report.sections.design import design
from truth.campaigns import Truth

ONE = Truth(blocks=6)
LATER = Truth(factors={"network": ("a", "b", "c")}, blocks=6, late=("network", "c"))


def change(found: Campaign, edit: Callable[[int, Attempt], Attempt | None]) -> Campaign:
    """Return a campaign with each attempt changed, or without it."""
    edited = (edit(index, one) for index, one in enumerate(found.attempts))
    return msgspec.structs.replace(found, attempts=tuple(one for one in edited if one is not None))


def text_of(found: Campaign) -> str:
    return " ".join(design(found)).replace("\u202f", " ")
