"""Try a target on input, and keep what it should not have done."""

from __future__ import annotations

import random
import signal
import traceback
from collections.abc import Iterator
from types import FrameType

from fuzzing.targets import Target

MOST_S = 10
"""Seconds that one input may take; a page of output takes milliseconds."""

_PIECES = (
    b"0",
    b"-1",
    b"1e309",
    b"nan",
    b"9" * 40,
    b"\xff",
    b"\0",
    b"\n",
    b'"',
    b"{",
    b"[" * 50,
    b":",
    b"*a",
    b",",
)


class TookTooLong(Exception):
    """A target took longer than MOST_S."""


def fault_of(target: Target, data: bytes) -> str:
    """Return what `target` does wrong with `data`, and where; empty where it reads or refuses it."""
    before = signal.signal(signal.SIGALRM, _expired)
    signal.alarm(MOST_S)
    try:
        target.read(data)
    except target.refusals:
        return ""
    except MemoryError:
        return "MemoryError"
    except Exception as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if "/tare/" in one.filename]
        place = f"{frames[-1].filename.rpartition('/tare/')[2]}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} in {place}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return ""


def inputs(target: Target, seed: int) -> Iterator[bytes]:
    """Yield the target's examples, and then changes to them without end, the same for the same `seed`."""
    yield from target.seeds
    chance = random.Random(f"{target.name}:{seed}")
    while True:
        data = bytearray(chance.choice(target.seeds))
        for _ in range(chance.randint(1, 6)):
            _change(data, chance, target.seeds)
        yield bytes(data)


def _change(data: bytearray, chance: random.Random, seeds: tuple[bytes, ...]) -> None:
    """Change `data` in one of the ways in which files are damaged or forged."""
    at = chance.randrange(len(data) + 1)
    length = chance.choice((1, 2, 8, 64, 1024))
    match chance.randrange(7):
        case 0 if at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        case 1:
            del data[at : at + length]
        case 2:
            data[at:at] = data[at : at + length]
        case 3:
            data[at:at] = chance.choice(_PIECES)
        case 4:
            data[at : at + chance.randint(1, 4)] = chance.choice(_PIECES)
        case 5:
            other = chance.choice(seeds)
            start = chance.randrange(len(other) + 1)
            data[at:at] = other[start : start + length]
        case _:
            lines = data.splitlines(keepends=True)
            chance.shuffle(lines) if chance.random() < 0.2 else lines.reverse()
            data[:] = b"".join(lines) if chance.random() < 0.3 else data[:at]


def _expired(number: int, frame: FrameType | None) -> None:
    raise TookTooLong(f"more than {MOST_S} s")
