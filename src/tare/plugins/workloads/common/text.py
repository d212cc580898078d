"""Read the lines of real logs: colours, carriage returns and a torn end taken away."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from tare.plugins.workloads.common.output_limit import OutputLimit

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
"""Control sequences of a terminal (ECMA-48): CSI, OSC and two-character ones."""


def colourless(text: str) -> str:
    """Return `text` without the control sequences of a terminal."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


_TAG = re.compile(r"\[(?:[^\s\]]*[0-9]+,)?[0-9]+\](?:\[[^\s\]]+\])?<std(?:out|err)>:")
"""What Open MPI puts before each line with --tag-output: job, rank, perhaps host and pid, and the stream."""
_BEFORE = re.compile(r" *[0-9]+: |\[[0-9]+\] | {2,}")
"""What else may stand before each line: a rank (srun --label, mpiexec -prepend-rank), or blanks."""
_FEWEST = 3  # lines that tell whether it stands before all of them


_MOST_DIGITS = 400
_ENDLESS = re.compile(f"[0-9]{{{_MOST_DIGITS},}}")
"""What no program prints for a number: it is larger than any, and `int` refuses it from 4300 digits on."""


def _starred(line: str) -> str:
    """Return `line` with stars for numbers without end, as Fortran prints them (see `figure`)."""
    return _ENDLESS.sub(lambda found: "*" * len(found[0]), line)


_BATCH = 256
"""How many lines are looked through at once; usual ones are some tens of kilobytes together."""


class Sieve:
    """The lines that a parser looks at, so that the others of a long log go by many at a time.

    `heads` is a regex of how they begin. Lines that hold one of `words` matter too; they are few, so that all
    lines of a batch with such a word go through, and those of the next one, which may go on with its matter.
    """

    def __init__(self, heads: str, *words: str) -> None:
        self._lines = re.compile(f"\n((?:{heads})[^\n]*)")
        self._words = words

    def sift(self, batch: list[str], text: str, *, was_near: bool) -> tuple[list[str], bool]:
        """Return the lines of `batch` that go through, and whether there was a word; `text` is all of it.

        `was_near` says that there was one in the batch before.
        """
        picked = self._lines.findall("\n" + text)
        is_near = len(picked) < len(batch) and any(word in text for word in self._words)
        return (batch if is_near or was_near else picked), is_near


def plain(
    lines: Iterable[str],
    on_torn: Callable[[str], None] | None = None,
    *,
    keeps_blanks: bool = False,
    watch: Callable[[list[str], str], None] | None = None,
    sieve: Sieve | None = None,
    room: OutputLimit | None = None,
) -> Iterator[str]:
    """Yield `lines` as they would be read on paper, without line ends and the blanks before them.

    Takes off a byte order mark, terminal colours, Open MPI's tags, and the rank or the blanks that stand
    before all of the first lines; splits at the carriage returns with which progress bars overwrite
    themselves. A file's last line that has no line end was cut short: it is left out, because half a number
    looks like a number; `on_torn` is given it instead, for formats that show whether a line is whole. Lines
    that never had ends (``splitlines``) are all kept. `keeps_blanks`, which keeps tags and ranks too, is for
    patterns that were not written for this parser.
    `watch` is given each batch of lines as they are, and the text of them together. Of lines that the `sieve`
    keeps back, some may be left out. Soon after `room` is full, the lines end; those left are counted.
    """
    source = iter(lines)
    first = next(source, None)
    if first is None:
        return
    has_ends = first.endswith("\n")
    batch = [first.removeprefix("\ufeff"), *islice(source, _BATCH)]
    before = "" if keeps_blanks else _before(batch)
    is_near = False
    while batch:
        text = "".join(batch)
        if max(map(len, batch)) > _MOST_DIGITS and _ENDLESS.search(text):
            batch = [_starred(line) for line in batch]
            text = "".join(batch)
        if watch is not None:
            watch(batch, text)
        is_torn = has_ends and text.count("\n") < len(batch)
        is_plain = has_ends and not (is_torn or "\r" in text or "\x1b" in text)
        if not is_plain or ("<" in text and "]<std" in text):
            yield from _clean(batch, on_torn, before, has_ends=has_ends, keeps_blanks=keeps_blanks)
        elif before:
            yield from [line.removeprefix(before).rstrip() for line in batch]
        elif keeps_blanks:
            yield from [line[:-1] for line in batch]
        elif sieve is None:
            yield from map(str.rstrip, batch)
        else:
            passed, is_near = sieve.sift(batch, text, was_near=is_near)
            yield from map(str.rstrip, passed)
        if is_torn or (room is not None and room.is_full_after(batch, source)):
            return
        batch = list(islice(source, _BATCH))


def _before(lines: Iterable[str]) -> str:
    """Return what stands before each of `lines` and is no part of it."""
    told = list(filter(str.strip, lines))
    match = _BEFORE.match(max(told)) if len(told) >= _FEWEST else None  # the last in order has fewest blanks
    return match[0] if match and all(line.startswith(match[0]) for line in told) else ""


def _clean(
    lines: Sequence[str],
    on_torn: Callable[[str], None] | None,
    before: str,
    *,
    has_ends: bool,
    keeps_blanks: bool,
) -> Iterator[str]:
    """Yield lines of which some hold more than their text, one by one, without what stands `before` it."""
    ends = "\r\n" if keeps_blanks else None
    ends_of_tags = {line[tag.end() :][:1] for line in lines if (tag := _TAG.match(line))}
    tag_end = " " if ends_of_tags == {" "} else ""  # Open MPI 5 puts a blank after the tag
    for line in lines:
        is_torn = has_ends and not line.endswith("\n")
        line = colourless(line)
        if line[:1] == "[" and "]<std" in line and not keeps_blanks:
            line, n_tags = _TAG.subn("", line, count=1)
            line = line.removeprefix(tag_end) if n_tags else line
        elif before:
            line = line.removeprefix(before)
        line = line.rstrip(ends)
        if is_torn:
            if on_torn is not None:
                on_torn(line.rpartition("\r")[2])
            return
        if "\r" in line:
            yield from line.split("\r")
        else:
            yield line


_FIGURE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_NO_FIGURE = re.compile(r"[+-]?(?:nan|inf(?:inity)?)(?:\(\w*\))?|\*+", re.IGNORECASE)


def figure(word: str) -> float | None:
    """Return the number that `word` is, NaN where a program printed NaN, infinity or stars, else None."""
    if _FIGURE.fullmatch(word):
        return float(word)
    return math.nan if _NO_FIGURE.fullmatch(word) else None


def doubled_name(text: str) -> str | None:
    """Return a name that an object of the JSON in `text` has twice, as where lines were lost between two.

    Decoders keep the last of them silently. Objects of nothing but text are left out: they hold options,
    which may be given twice. None where there is none, or where the text is no JSON.
    """
    found: list[str] = []

    def look(pairs: list[tuple[str, object]]) -> None:
        names = {name for name, _ in pairs}
        if len(names) < len(pairs) and not all(isinstance(value, str) for _, value in pairs):
            found.append(next(name for name in names if sum(one == name for one, _ in pairs) > 1))

    try:
        json.loads(text, object_pairs_hook=look)
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None


def aborts(line: str) -> bool:
    """Return whether `line` is an MPI's word that a rank called MPI_Abort (Open MPI; MPICH, Intel MPI)."""
    return "MPI_A" in line and ("MPI_ABORT was invoked" in line or "alled MPI_Abort(" in line)
