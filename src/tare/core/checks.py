"""What `tare doctor` finds."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found. `is_met` is None where it cannot be told; `cure` is for what is not met."""

    name: str
    is_met: bool | None
    found: str
    cure: str = ""
