"""Lay out an attempt's folder: its exact commands, its input files, and what earlier runs have kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.compose import Composer
from tare.errors import CampaignError, DiskFull
from tare.model.case import Case
from tare.model.launch import Invocation
from tare.model.workload import Stage
from tare.runner.cache import StageCache, stage_keys
from tare.runner.witness.hearing import gather

_LEAST_ROOM = 64 * 1024  # bytes; with less, an output may be cut short without anybody noticing


class Staged(NamedTuple):
    """A stage of an attempt: its command, the key under which its products are kept, and its outputs."""

    stage: Stage
    invocation: Invocation
    key: str | None
    stdout: str
    stderr: str


def stage_all(composer: Composer, case: Case, work: Path, head: str | None) -> tuple[Staged, ...]:
    """Make the folder `work` with the input files of all stages, and ``command.json``; return the stages."""
    _make_folder(work)
    place = composer.site.place(work) if head else None
    staged = compose_stages(composer, case, place or work)
    record = [
        {"stage": one.stage.name, "host": head, "argv": one.invocation.argv, "env": one.invocation.env}
        for one in staged
    ]
    (work / "command.json").write_bytes(msgspec.json.encode(record))
    for one in staged:
        for name, text in one.stage.files.items():
            path = work / name
            if not path.resolve().is_relative_to(work.resolve()):
                raise CampaignError(f"{case.workload}: input file {name!r} is outside its working folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return staged


def compose_stages(composer: Composer, case: Case, work: Path) -> tuple[Staged, ...]:
    """Return the stages of `case`; the output of the last one, which is measured, has no prefix."""
    composed = composer.compose(case, work)
    keys = stage_keys(composer, case) if len(composed) > 1 else (None,)
    return tuple(
        Staged(stage, invocation, key, f"{prefix}stdout", f"{prefix}stderr")
        for (stage, invocation), key, prefix in zip(composed, keys, _prefixes(composed), strict=True)
    )


def keep(cache: StageCache, staged: Staged, work: Path) -> str:
    """Keep what a stage made, if it is to be kept; return what it did not make, if anything."""
    if staged.key is None:
        return ""
    try:
        cache.keep(staged.key, staged.stage, work)
    except FileNotFoundError as error:
        return f"made no {Path(error.filename).name}"
    return ""


def require_room(folder: Path) -> None:
    """Raise DiskFull unless the file system of `folder` has room for one more attempt's evidence."""
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < _LEAST_ROOM:
        raise DiskFull(folder)


def settle_outputs(staged: Staged, work: Path) -> None:
    """Part what the libraries of a stage that ended said from what its program did."""
    gather(work, staged.stage.name, staged.stdout, staged.stderr)
    _drop_if_empty(work / staged.stderr)


def _drop_if_empty(path: Path) -> None:
    """Remove an output that nobody wrote to."""
    if path.exists() and path.stat().st_size == 0:
        path.unlink()


def _prefixes(composed: tuple[tuple[Stage, Invocation], ...]) -> Iterator[str]:
    last = composed[-1][0]
    return ("" if stage is last else f"{stage.name}." for stage, _ in composed)


def _make_folder(work: Path) -> None:
    try:
        work.mkdir()
    except FileNotFoundError:  # the first attempt of its case
        work.mkdir(parents=True)
