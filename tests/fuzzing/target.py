"""What a target is, and where its examples come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tare.core.errors import TareError

TESTS = Path(__file__).parents[1]
PROJECT = TESTS.parent
CORPUS = PROJECT.parent / "shared" / "corpus"
"""Real output, which is kept beside the project; targets have fewer examples where it is absent."""

_MOST_SEEDS, _MOST_SEED_BYTES = 40, 60_000


class Target(NamedTuple):
    """What reads, what it may be given, and how it may refuse it."""

    name: str
    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    refusals: tuple[type[Exception], ...] = (TareError,)


def files_of(folder: Path, pattern: str = "*") -> tuple[bytes, ...]:
    """Return the beginnings of the files below `folder`; none where it is absent."""
    files = sorted(path for path in folder.rglob(pattern) if path.is_file()) if folder.is_dir() else []
    return tuple(path.read_bytes()[:_MOST_SEED_BYTES] for path in files[:_MOST_SEEDS])


def as_text(data: bytes) -> str:
    """Return `data` as Tare reads the output of programs."""
    return data.decode("utf-8", "replace")
