"""The files that an import has read, before each gets its place among the runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tare.core.attempt import Series, Source, State
from tare.core.case import Case
from tare.core.values import Scalar
from tare.storage.candidates import Candidate
from tare.storage.import_summary import Origin, Understood
from tare.storage.trees import printable


class ReadFile(NamedTuple):
    """The result of reading a file: its figures, or why it does not count."""

    state: State
    reason: str = ""
    check: str = ""
    series: tuple[Series, ...] = ()
    printed: Mapping[str, tuple[Scalar, ...]] = {}
    left_out: tuple[str, ...] = ()


class ReadFiles(NamedTuple):
    """A new file, with what was read from it."""

    case: Case
    candidate: Candidate
    source: Source
    judged: ReadFile
    understood: Understood


def _given_settings(one: ReadFiles) -> tuple[object, ...]:
    """Return the settings that the user gave for a file, in a fixed order."""
    return tuple(sorted((name, str(value)) for name, value in one.candidate.settings.items()))


def joined(files: Sequence[ReadFiles]) -> Iterator[ReadFiles]:
    """Yield the files; a file without figures joins the case of files with the same given settings.

    A program that broke off before it printed its ranks belongs to the case of those other files, if they are
    all of one case. It still has no figures, so nothing is invented.
    """
    measured: dict[tuple[object, ...], dict[str, ReadFiles]] = defaultdict(dict)
    for one in files:
        if one.judged.state is State.DONE:
            measured[_given_settings(one)].setdefault(one.case.id, one)
    for one in files:
        same = measured.get(_given_settings(one), {})
        other = next(iter(same.values())) if len(same) == 1 else None
        lacks = other is not None and one.case.settings.items() < other.case.settings.items()
        if other is not None and lacks and one.judged.state is not State.DONE:
            yield one._replace(case=other.case)
        else:
            yield one


def without_value(files: Iterable[ReadFiles]) -> Iterator[str]:
    """Yield a remark for each figure that files print without a value: in which files, and why."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in files:
        for sentence in one.judged.left_out:
            found[sentence].append(one.source.path)
    for sentence, paths in found.items():
        others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        yield f"{paths[0]}{others}: {sentence}"


def undivided(files: Sequence[ReadFiles]) -> Iterator[str]:
    """Yield a remark for each case with files in several folders, if no path or table gave settings."""
    given = {Origin.PATTERN, Origin.TABLE}
    folders: dict[str, dict[Path, None]] = defaultdict(dict)
    for one in files:
        if given.isdisjoint(one.candidate.origins.values()):
            folders[one.case.id].setdefault(one.candidate.path.parent)
    for found in folders.values():
        if len(found) > 1:
            first, second, *more = (printable(folder) for folder in found)
            others = f" and {len(more)} more" if more else ""
            yield (
                f"files in {first}, {second}{others} are taken as repeats of one case; "
                "if their paths hold settings, name those in --pattern"
            )
