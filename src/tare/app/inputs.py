"""Find the inputs of a plan on this machine, and check them before the first run."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tare.app.planning import Loaded
from tare.config.faults import format_path
from tare.core.case import Case
from tare.core.errors import Fault, FileFaults
from tare.core.study import Origin
from tare.core.units import format_bytes
from tare.core.workload import Input
from tare.execution.compose import Composer
from tare.execution.inputs import Content, read_input
from tare.storage.inputs import InputsRecord, RecordedInput, read_inputs_record
from tare.storage.trees import printable

LARGE = 256 * 1024 * 1024
"""Bytes of an input of which a user is told; a disk needs seconds to write them."""


def inputs_of(loaded: Loaded) -> dict[Input, Origin | None]:
    """Return the inputs of all cases, each once, with its place in the study."""
    study = loaded.study
    own = {one.name: {given.name for given in one.inputs} for one in study.workloads if one.inputs}
    if not study.inputs and not own:
        return {}
    found: dict[Input, Origin | None] = {}
    for case in loaded.plan.cases:
        for one in loaded.composer.copies(case):
            is_own = one.name in own.get(case.workload, ())
            place = ("workloads", case.workload) if is_own else ()
            found.setdefault(one, study.origins.get(format_path((*place, "inputs", one.name))))
    return found


def missing_inputs(loaded: Loaded) -> list[Fault]:
    """Return a fault for each input that is not on this machine. Nothing is read."""
    faults = []
    for one, origin in inputs_of(loaded).items():
        try:
            loaded.composer.source(one).stat()
        except OSError as error:
            faults.append(loaded.study.fault(origin, _unreadable(error)))
        except ValueError as error:  # a NUL, in the record of a campaign that came by mail
            faults.append(loaded.study.fault(origin, str(error)))
    return faults


def check_inputs(folder: Path, loaded: Loaded) -> InputsRecord | None:
    """Read the inputs of the campaign in `folder`, and return their record; None if it has none.

    Raises FileFaults with every input that cannot be read, or whose checksum is not that of the study, or
    not that with which the campaign began.
    """
    given = inputs_of(loaded)
    if not given:
        return None
    before = read_inputs_record(folder)
    known = {(one.name, one.path): one for one in before.inputs} if before else {}
    contents: dict[Path, Content] = {}
    faults: list[Fault] = []
    for one, origin in given.items():
        source = loaded.composer.source(one)
        key = (one.name, one.path)
        try:
            _require_outside(folder, source)
            contents[source] = contents.get(source) or read_input(source)
            known[key] = _recorded(one, source, contents[source], known.get(key))
        except OSError as error:
            faults.append(loaded.study.fault(origin, _unreadable(error)))
        except ValueError as error:
            faults.append(loaded.study.fault(origin, str(error)))
    if faults:
        raise FileFaults(faults)
    place = os.fsencode(loaded.composer.study_folder).decode(errors="backslashreplace")
    return InputsRecord(folder=place, inputs=tuple(known.values()))


def large_inputs(record: InputsRecord | None) -> Iterator[str]:
    """Yield a sentence for each input whose copies cost time, and may disturb the runs that they precede."""
    for one in record.inputs if record else ():
        if one.n_bytes >= LARGE:
            yield (
                f"note: input {one.name} of {format_bytes(one.n_bytes)} is copied for each run, and the disk "
                "may still be writing while the run is measured; put it on a storage path, which "
                "commands name as {storage_path}"
            )


def with_checksums(loaded: Loaded, record: InputsRecord | None) -> Loaded:
    """Return a copy of `loaded` whose runs begin only with inputs as they are in `record`."""
    if record is None:
        return loaded
    composer = loaded.composer
    sums = {composer.study_folder / one.path: one.sha256 for one in record.inputs}
    return loaded._replace(composer=msgspec.structs.replace(composer, checksums=sums))


def input_facts(composer: Composer, case: Case) -> dict[str, str]:
    """Return the checksums of the inputs of `case`, as facts of the environment of its runs."""
    if not composer.checksums:
        return {}
    return {f"input.{one.name}": composer.checksums[composer.source(one)] for one in composer.copies(case)}


def _recorded(one: Input, source: Path, found: Content, before: RecordedInput | None) -> RecordedInput:
    """Return the record of an input. Raises ValueError, with the cure, if it has another checksum."""
    if one.sha256 is not None and found.sha256 != one.sha256:
        raise ValueError(
            f"{printable(source)} has the SHA-256 checksum {found.sha256}, not {one.sha256}; restore it, or "
            "correct 'sha256'"
        )
    if before is not None and found.sha256 != before.sha256:
        raise ValueError(
            f"{printable(source)} is not what the campaign began with: its SHA-256 checksum is "
            f"{found.sha256}, and was {before.sha256}; restore it, or begin another campaign"
        )
    return RecordedInput(
        name=one.name,
        path=one.path,
        n_files=found.n_files,
        n_bytes=found.n_bytes,
        sha256=found.sha256,
    )


def _require_outside(folder: Path, source: Path) -> None:
    """Raise ValueError if the campaign is inside an input, which would grow with each run."""
    if source.is_dir() and folder.resolve().is_relative_to(source.resolve()):
        raise ValueError(
            f"{printable(source)} holds the campaign itself, {printable(folder)}; name the files in it that "
            "runs need, or give another --out"
        )


def _unreadable(error: OSError) -> str:
    what = "is not there" if error.errno == errno.ENOENT else f"cannot be read: {error.strerror}"
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    return f"{printable(name)} {what}; put it there, or correct its path"
