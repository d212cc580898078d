"""The results of `tare doctor`."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check.

    `is_met` is None where it cannot be determined; `cure` is for a check that fails. `program` is the
    workload with which a platform started two ranks; empty where it started none.
    """

    name: str
    is_met: bool | None
    found: str
    cure: str = ""
    program: str = ""
