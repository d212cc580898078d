"""What applications share: the I/O factor, where heavy output goes, and inputs that are linked or edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.workload import Parameter, ParameterKind, Stage
from tare.plugins.workloads.common.benchmark import Benchmark, Findings

_IO_LEVELS = ("none", "heavy")

IO_NOTE = """\
The factor `io` tells computing from storing: `none` (as without it) writes no results, `heavy` writes them as
often as users who suffer from it do. Heavy output goes to the case's storage path, into a folder of the
run's own that is removed after it, or into the working folder where the case names no storage."""


class Application(Benchmark, frozen=True, kw_only=True):
    """A workload that prints on how many ranks it ran; `ranks` is what its case asked for."""

    ranks: int | None = None

    def expecting(self, case: Case) -> Self:
        """Return the same with the ranks of `case`."""
        return msgspec.structs.replace(self, ranks=case.layout.ranks)


def check_ranks(findings: Findings, found: Iterable[int], expected: int | None) -> None:
    """Add a problem where a program ran on other ranks than asked for.

    A program of another MPI than the launcher's starts as often as there are ranks, alone each time.
    """
    for ranks in sorted(found):
        if expected is not None and ranks != expected:
            findings.problem(
                f"the program ran on {ranks} {'rank' if ranks == 1 else 'ranks'} instead of {expected}; "
                "build it with the launcher's MPI"
            )


def is_heavy(case: Case) -> bool:
    """Return whether `case` asks for heavy output."""
    return case.io == "heavy"


def io_faults(case: Case) -> Iterator[str]:
    """Yield a fault where `case` asks for a level of I/O that applications do not have."""
    if case.io is not None and case.io not in _IO_LEVELS:
        yield f"io is {case.io!r}, but {case.workload} knows {' and '.join(_IO_LEVELS)}; set io: heavy"


def output_folder(case: Case) -> str:
    """Return where `case` writes its results: on its storage path if that is what it measures.

    That is the run's own folder there, which is empty when it begins.
    """
    return "{storage}" if is_heavy(case) and case.storage else "."


def serial(
    name: str,
    *argv: str,
    files: dict[str, str] | None = None,
    keeps: Iterable[str] = (),
    inputs: Iterable[str] = (),
) -> Stage:
    """Return a stage of one process, without MPI."""
    return Stage(
        name=name, argv=argv, files=files or {}, is_mpi=False, keeps=tuple(keeps), inputs=tuple(inputs)
    )


def linked(folder: str) -> Stage:
    """Return the stage that puts a symbolic link to each file of `folder` into the working folder."""
    return serial("link", "cp", "--recursive", "--symbolic-link", "--force", "-T", folder, ".")


CHECKSUMS = Parameter(
    name="checksums",
    kind=ParameterKind.TEXT,
    default="",
    summary="a file of SHA-256 sums of the inputs, as sha256sum writes it; on other inputs the run fails",
)
"""The parameter of workloads whose inputs are files of the user's."""


def checked(case: Case) -> tuple[Stage, ...]:
    """Return the stage that fails where links in the working folder lead to other files than the sums say.

    None where the case gives no sums. See `linked`; names in the file are relative to the linked folder.
    """
    sums = str(case.parameters["checksums"])
    return (_sum_check(sums),) if sums else ()


def checked_file(name: str, sha256: str) -> Stage:
    """Return the stage that fails where the file `name` of the working folder has another sum."""
    stage = _sum_check(f"{name}.sha256")
    return msgspec.structs.replace(stage, files={f"{name}.sha256": f"{sha256.lower()}  {name}\n"})


def sum_faults(case: Case) -> Iterator[str]:
    """Yield a fault where the file of sums would not be found."""
    if case.parameters["checksums"]:
        yield from folder_faults("checksums", str(case.parameters["checksums"]))


def _sum_check(sums: str) -> Stage:
    return serial("checksums", "sha256sum", "--check", "--strict", "--quiet", sums)


def folder_faults(parameter: str, folder: str) -> Iterator[str]:
    """Yield a fault where links to `folder` would lead nowhere."""
    if not folder.startswith(("/", "{storage}")):
        yield f"{parameter} is {folder!r}, which is relative to nothing; write an absolute path"


def edited(name: str, files: Iterable[str], *expressions: str) -> Stage:
    """Return the stage that edits `files` with sed(1) `expressions`; a link becomes a file of its own."""
    words = [word for expression in expressions for word in ("-e", expression)]
    return serial(name, "sed", "--in-place", "--regexp-extended", *words, *files)
