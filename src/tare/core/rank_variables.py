"""The shell function that finds the rank of a process; every script that ranks run begins with it. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tare.core.entry_points import installed, load
from tare.core.errors import UsageError


def with_rank(script: str) -> str:
    """Return `script` after the function ``find_rank``, which sets ``rank`` (see ranks.sh).

    A launcher of another package may set a variable that no MPI here sets: its `rank_variables` come first.
    """
    text = Path(__file__).with_name("ranks.sh").read_text()
    for name in _rank_variables():
        text = text.replace("  rank=", f"  rank=${{{name}:-", 1).replace("}\n}\n", "}}\n}\n", 1)
    return text + script


def _rank_variables() -> Iterator[str]:
    for plugin in installed("tare.launchers").values():
        with contextlib.suppress(UsageError):  # a platform with that launcher reports the fault
            yield from getattr(load(plugin), "rank_variables", ())
