"""Clean the lines of real logs: remove colours, tags and carriage returns, and drop a truncated last line.

For example, ``[1,0]<stdout>: 4096  12.3`` (Open MPI with --tag-output) becomes ``4096  12.3``.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from tare.plugins.workloads.common.output_limit import OutputLimit

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
"""Control sequences of a terminal (ECMA-48): CSI, OSC and those of two characters."""


def colourless(text: str) -> str:
    """Return `text` without the control sequences of a terminal."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


_DAY = "[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}"
_TAG = re.compile(rf"(?:\[?{_DAY}\]?)?(?:\[(?:[^\s\]]*[0-9]+,)?[0-9]+\](?:\[[^\s\]]+\])?)?<std(?:out|err)>:")
"""What Open MPI's --timestamp-output and --tag-output put before each line.

The time, then job, rank, sometimes host and pid, and always the stream.
"""
_BEFORE = re.compile(
    r" *[0-9]+: |\[[0-9]+\] | {2,}|[A-Za-z](?=[\w.-]{0,63}[0-9])[\w.-]{1,63}: |[A-Za-z][\w.-]{0,63} +\| "
)
"""Other prefixes of lines: a rank, blanks, a numbered host, a container.

They are those of ``srun --label`` and ``mpiexec -prepend-rank``, of pdsh, and of ``docker compose logs``.
"""
_FEWEST = 3  # lines that are needed to decide that all lines have the prefix
_RANK = re.compile(r" *[0-9]+:(?: |$)|\[[0-9]+\](?: |$)")
"""The rank before each line, where several ranks print."""
_OF_PODS = re.compile(
    r"(?:\[pod/[^\s\]]{1,320}\](?: |$))?"
    rf"(?:\[?(?:{_DAY}|(?:(?:[0-9]{{4}}[-/][0-9]{{2}}[-/][0-9]{{2}}[T_ ]|[A-Z][a-z]{{2}} [ 0-9][0-9] ))?"
    r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)\]?(?:[ \t]|$))?"
)
"""What stands before each line of a log of a pod: pod and container (kubectl logs --prefix), and the time.

Times are those of `kubectl logs --timestamps`, ts(1), and continuous integration.
"""
_LAUNCHERS = re.compile(r"(?:srun|salloc|slurmstepd|mpirun|mpiexec|prterun): ")
"""The beginning of the lines that launchers print themselves, without a label."""


_MOST_DIGITS = 400
_ENDLESS = re.compile(f"[0-9]{{{_MOST_DIGITS},}}")
"""More digits than any program prints for a number; `int` raises ValueError from 4300 digits on."""


def _starred(line: str) -> str:
    """Return `line` with overlong numbers replaced by stars, as Fortran prints an overflow (see `figure`)."""
    return _ENDLESS.sub(lambda found: "*" * len(found[0]), line)


_BATCH = 256
"""How many lines are processed at once; together they usually have some tens of kilobytes."""


class Sieve:
    """A filter for the lines that a parser needs; it skips the other lines of a long log many at a time.

    `heads` is a regex for the beginning of the lines that pass. Lines that contain one of `words` are needed
    too. Such words are rare, so if a batch contains one, all lines of that batch pass, and all lines of the
    next batch, where the same message may continue.

    `rows` is a regex for the beginning of the rows of a table. Consecutive rows may pass as one string, with
    line ends between them, for a parser that can read them at once.
    """

    def __init__(self, heads: str, *words: str, rows: str = "") -> None:
        row, head = (f"(?:{beginning})[^\n]*" for beginning in (rows, heads))
        self._lines = re.compile(f"\n({row}(?:\n{row})*+|{head})" if rows else f"\n({head})")
        self._words = words

    def sift(self, batch: list[str], text: str, *, was_near: bool) -> tuple[list[str], bool]:
        """Return the lines of `batch` that pass, and whether the batch contains one of the words.

        `text` is the batch as one string. `was_near` says whether the previous batch contained a word.
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
    limit: OutputLimit | None = None,
) -> Iterator[str]:
    """Yield `lines` without line ends and trailing blanks, and without what is not part of their text.

    This removes a byte order mark, terminal colours, Open MPI's tags, and what precedes all of the first
    lines: pods and times of kubectl, ranks, or blanks. It splits lines at carriage returns, with which
    progress bars overwrite themselves.

    A last line without a line end was cut short. It is left out, because half a number looks like a number,
    and is passed to `on_torn` instead, for formats that show whether a line is whole. If no line has an end
    (``splitlines``), all lines are kept.

    `keeps_blanks` keeps blanks, tags and ranks, for patterns that were not written for this parser. `watch`
    is called with each batch of unchanged lines, and with the batch as one string. Lines that do not pass
    `sieve` may be left out. When `limit` is exceeded, no more lines follow, and the rest is counted.
    """
    source = iter(lines)
    first = next(source, None)
    if first is None:
        return
    has_ends = first.endswith("\n")
    batch = [first.removeprefix("\ufeff"), *islice(source, _BATCH)]
    if not keeps_blanks and _are_of_pods(batch):
        batch = list(map(_podless, batch))
        source = map(_podless, source)
    if not keeps_blanks and _are_of_ranks(batch):
        batch = list(map(_rankless, batch))
        source = map(_rankless, source)
    before = "" if keeps_blanks else _before(batch)
    is_near = False
    while batch:
        text = "".join(batch)
        if max(map(len, batch)) > _MOST_DIGITS and _ENDLESS.search(text):
            batch = [_starred(line) for line in batch]
            text = "".join(batch)
        if watch is not None:
            watch(batch, text)
        is_torn = has_ends and not batch[-1].endswith("\n")
        is_plain = has_ends and not (is_torn or "\r" in text or "\x1b" in text)
        if not is_plain or ("<" in text and "<std" in text):
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
        if is_torn or (limit is not None and limit.is_full_after(batch, source)):
            return
        batch = list(islice(source, _BATCH))


def _are_of_pods(lines: Iterable[str]) -> bool:
    """Return whether kubectl put a pod or a time before each of `lines`."""
    filled = list(filter(str.strip, lines))
    return len(filled) >= _FEWEST and all(_podless(line) != line for line in filled)


def _podless(line: str) -> str:
    return _OF_PODS.sub("", line, count=1)


def _filled(lines: Iterable[str]) -> list[str]:
    """Return the lines that are not blank, without those of launchers, which have no label."""
    return [line for line in lines if line.strip() and not _LAUNCHERS.match(line)]


def _are_of_ranks(lines: Iterable[str]) -> bool:
    """Return whether a rank stands before each of `lines`, and not the same one, as where ranks warn.

    The numbers of a table are no ranks: a rank prints several lines, and srun gives all ranks one width.
    """
    filled = _filled(lines)
    ranks = Counter(match[0].rstrip("\n ") for line in filled if (match := _RANK.match(line)))
    widths = {len(rank) for rank in ranks if rank[0] != "["}
    return (
        len(ranks) > 1
        and ranks.total() == len(filled)
        and max(ranks.values()) >= _FEWEST
        and len(widths) < 2
        and len({rank[0] == "[" for rank in ranks}) == 1
    )


def _rankless(line: str) -> str:
    return _RANK.sub("", line, count=1)


def _before(lines: Iterable[str]) -> str:
    """Return the prefix that all of `lines` share: a rank, or blanks; empty if there is none."""
    filled = _filled(lines)
    match = _BEFORE.match(max(filled)) if len(filled) >= _FEWEST else None  # the greatest has fewest blanks
    return match[0] if match and all(line.startswith(match[0]) for line in filled) else ""


def _clean(
    lines: Sequence[str],
    on_torn: Callable[[str], None] | None,
    before: str,
    *,
    has_ends: bool,
    keeps_blanks: bool,
) -> Iterator[str]:
    """Yield cleaned lines one by one: without colours, tags, carriage returns and the prefix `before`."""
    ends = "\r\n" if keeps_blanks else None
    ends_of_tags = {line[tag.end() :][:1] for line in lines if (tag := _TAG.match(line))}
    tag_end = " " if ends_of_tags == {" "} else ""  # Open MPI 5 puts a blank after the tag
    for line in lines:
        is_torn = has_ends and not line.endswith("\n")
        line = colourless(line)
        if "<std" in line and not keeps_blanks:
            if (tag := _TAG.match(line)) is not None:
                line = line[tag.end() :].removeprefix(tag_end)
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


_FIGURE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3}|[dD][+-][0-9]{1,3})?")
_NO_FIGURE = re.compile(r"[+-]?(?:nan|inf(?:inity)?)(?:\(\w*\))?|\*+", re.IGNORECASE)


def figure(word: str) -> float | None:
    """Return the number in `word`; NaN if it is NaN, infinity or stars; None if it is not a number.

    The exponent may be that of Fortran's double precision, such as ``1.5D+05``.
    """
    if _FIGURE.fullmatch(word):
        return float(word.replace("D", "E").replace("d", "e"))
    return math.nan if _NO_FIGURE.fullmatch(word) else None


def doubled_name(text: str) -> str | None:
    """Return a name that occurs twice in an object of the JSON in `text`.

    This happens when lines between two objects were lost. JSON decoders silently keep the last value. Objects
    whose values are all strings are ignored: they hold options, which may be given twice. Return None if
    there is no such name, or if the text is not JSON.
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
    """Return whether `line` reports that a rank called MPI_Abort (Open MPI; MPICH, Intel MPI)."""
    return "MPI_A" in line and ("MPI_ABORT was invoked" in line or "alled MPI_Abort(" in line)
