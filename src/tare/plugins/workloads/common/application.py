"""Code that application workloads share: the factor `io`, the output folder, and linked or edited inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.counting import count
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark, Findings
from tare.plugins.workloads.common.log_parser import LogParser

_IO_LEVELS = ("none", "heavy")

IO_NOTE = """\
The factor `io` separates computing from storing: `none` (as without it) writes no results, `heavy` writes
them as often as users who suffer from it do. Heavy output goes to the case's storage path, into a folder of
the run's own that is removed after it, or into the working folder where the case names no storage."""


class Application(Benchmark, frozen=True, kw_only=True):
    """A workload whose program prints its number of ranks; `ranks` is the number that the case asked for."""

    ranks: int | None = None

    def expecting(self, case: Case) -> Self:
        """Return a copy that expects the number of ranks of `case`."""
        return msgspec.structs.replace(self, ranks=case.layout.ranks)


def check_ranks(findings: Findings, found: Iterable[int], expected: int | None) -> None:
    """Add a problem for each number in `found` (ranks that a program printed) that is not `expected`.

    A program that was built with another MPI than the launcher's runs as independent copies of one rank each.
    """
    for ranks in sorted(found):
        if expected is not None and ranks != expected:
            findings.problem(
                f"the program ran on {count(ranks, 'rank')} instead of {expected}; "
                "build it with the launcher's MPI"
            )


class ApplicationLog(LogParser):
    """The parser of an application's log, which compares the printed numbers of ranks with the case's."""

    finds_aborts = True

    def __init__(self, foms: Iterable[Fom], ranks: int | None) -> None:
        super().__init__(foms)
        self._asked_ranks = ranks
        self._ranks: set[int] = set()
        """The numbers of ranks that the program printed."""

    def _finish(self, *, is_complete: bool) -> Parsed:
        """Return the findings, after a check of the number of ranks."""
        check_ranks(self._findings, self._ranks, self._asked_ranks)
        return self._findings.parsed(is_complete=is_complete)


def is_heavy(case: Case) -> bool:
    """Return whether `case` asks for heavy output."""
    return case.io == "heavy"


def io_faults(case: Case) -> Iterator[str]:
    """Yield a fault if `case` asks for a level of `io` that applications do not have."""
    if case.io is not None and case.io not in _IO_LEVELS:
        yield f"io is {case.io!r}, but {case.workload} knows {' and '.join(_IO_LEVELS)}; set io: heavy"


def output_folder(case: Case) -> str:
    """Return the folder for the results of `case`.

    With heavy output and a storage path, this is the run's own folder on that path, which is empty when the
    run begins; otherwise it is the working folder.
    """
    return "{storage}" if is_heavy(case) and case.storage else "."


def serial(
    name: str,
    *argv: str,
    files: dict[str, str] | None = None,
    keeps: Iterable[str] = (),
    inputs: Iterable[str] = (),
) -> Stage:
    """Return a stage that runs one process, without MPI."""
    return Stage(
        name=name, argv=argv, files=files or {}, is_mpi=False, keeps=tuple(keeps), inputs=tuple(inputs)
    )


def linked(folder: str) -> Stage:
    """Return the stage that puts a symbolic link to each file of `folder` into the working folder."""
    return serial("link", "cp", "--recursive", "--symbolic-link", "--force", "-T", folder, ".")


CHECKSUMS = declare.text(
    "checksums",
    "",
    "a file of SHA-256 sums of the inputs, as sha256sum writes it; on other inputs the run fails",
)
"""A parameter for workloads whose input files the user provides."""


def checked(case: Case) -> tuple[Stage, ...]:
    """Return a stage that fails if a linked input file differs from the case's checksums.

    Return no stage if the case gives no checksums. File names in the file of checksums are relative to the
    linked folder (see `linked`).
    """
    sums = str(case.parameters["checksums"])
    return (_sum_check(sums),) if sums else ()


def checked_file(name: str, sha256: str) -> Stage:
    """Return a stage that fails if the file `name` in the working folder has another sum than `sha256`."""
    stage = _sum_check(f"{name}.sha256")
    return msgspec.structs.replace(stage, files={f"{name}.sha256": f"{sha256.lower()}  {name}\n"})


def sum_faults(case: Case) -> Iterator[str]:
    """Yield a fault if the path of the file of checksums is not absolute."""
    if case.parameters["checksums"]:
        yield from folder_faults("checksums", str(case.parameters["checksums"]))


def _sum_check(sums: str) -> Stage:
    return serial("checksums", "sha256sum", "--check", "--strict", "--quiet", sums)


def folder_faults(parameter: str, folder: str) -> Iterator[str]:
    """Yield a fault if `folder` is not absolute: links to a relative path would be broken."""
    if not folder.startswith(("/", "{storage}")):
        yield f"{parameter} is {folder!r}, which is relative to nothing; write an absolute path"


def edited(name: str, files: Iterable[str], *expressions: str) -> Stage:
    """Return a stage that edits `files` with sed(1) `expressions`; sed replaces a link by an edited copy."""
    words = [word for expression in expressions for word in ("-e", expression)]
    return serial(name, "sed", "--in-place", "--regexp-extended", *words, *files)
