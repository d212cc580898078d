"""Prepare an attempt's folder: its exact commands and input files; afterwards, keep its products."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core import log
from tare.core.case import Case
from tare.core.errors import CampaignError, DiskFull, shown
from tare.core.launch import Invocation
from tare.core.log import fields
from tare.core.program import is_epilogue
from tare.core.safe_folder import SafeFolder
from tare.core.workload import Input, Stage
from tare.execution.access_rights import restore_rights
from tare.execution.cache import StageCache, stage_keys
from tare.execution.compose import Composer
from tare.execution.inputs import copy_input, drop_copy
from tare.execution.transport_reports.gathering import gather
from tare.probes.placement import BOOST, ranks_folder, reports_folder
from tare.probes.software import FOLDER as SOFTWARE
from tare.storage.trees import printable

_LOG = log.of("staging")

_LEAST_SPACE = 64 * 1024  # bytes; with less, an output may be cut short unnoticed
_LEAST_INODES = 64  # an attempt's folder, its command, its outputs, and the files of ranks and programs


class StagedFolder(NamedTuple):
    """A stage of an attempt: its command, the cache key of its products, and its output files.

    `key` is None if its products are not cached.
    """

    stage: Stage
    invocation: Invocation
    key: str | None
    stdout: str
    stderr: str


def stage_all(
    composer: Composer,
    case: Case,
    work: Path,
    head: str | None,
    owner: str | None = None,
    *,
    boost_tries: int = 0,
) -> tuple[StagedFolder, ...]:
    """Make the folder `work` with the input files of all stages and ``command.json``; return the stages.

    `head` is the host that runs the launcher, None for this machine. `owner` is a part of the name of the
    attempt's own folder on its storage path. `boost_tries` is how many times its ranks try to raise the
    priority of their session.
    """
    folder = _folder(work)
    folder.make_folder(is_fresh=True)
    staging_folder = composer.site.staging_folder(work) if head else None
    staged = compose_stages(composer, case, staging_folder or work, owner)
    own = {"storage": composer.own_storage(case, owner)} if composer.needs_own_storage(case) else {}
    with folder.kept_open() as kept:
        _write(kept, composer, case, staged, {"host": head, "boost": boost_tries > 0, **own})
        if boost_tries:
            _ask_for_boost(kept, composer, case, staged, boost_tries)
    return staged


def _write(
    folder: SafeFolder,
    composer: Composer,
    case: Case,
    staged: Sequence[StagedFolder],
    common: Mapping[str, object],
) -> None:
    """Write the input files of the stages and ``command.json``, which has `common` for each of them."""
    record = [
        {
            "stage": one.stage.name,
            "argv": composer.pseudonyms.argv(one.invocation.argv),
            "env": composer.pseudonyms.variables(one.invocation.env),
            **common,
            **_copied(composer, one.stage, folder, case.workload),
        }
        for one in staged
    ]
    (folder / "command.json").replace(msgspec.json.encode(record), is_synced=False)
    for one in staged:
        for name, text in one.stage.files.items():
            _input(folder, name, case.workload).replace(text.encode(), is_synced=False)
            _LOG.debug("file written", extra=fields(case=case.id, file=name, n_bytes=len(text)))


def _ask_for_boost(
    folder: SafeFolder, composer: Composer, case: Case, staged: Sequence[StagedFolder], tries: int
) -> None:
    """Tell the ranks of each stage, by a file, how many times they try to raise their priority."""
    for one in staged:
        if composer.runs_placement_probe(case, one.stage):
            (folder / ranks_folder(one.stage) / BOOST).replace(f"{tries}\n".encode(), is_synced=False)


def _folder(work: Path) -> SafeFolder:
    return SafeFolder(work.parents[2], *work.parts[-3:])


def _copied(composer: Composer, stage: Stage, folder: SafeFolder, workload: str) -> dict[str, object]:
    """Copy the inputs of `stage` into `folder`; return their names, sizes and checksums for the record."""
    copies = [_copy(composer, one, _input(folder, one.name, workload), workload) for one in stage.copies]
    return {"inputs": copies} if copies else {}


def _copy(composer: Composer, one: Input, place: SafeFolder, workload: str) -> dict[str, object]:
    """Copy one input. Raises CampaignError unless it is as it was when the session began."""
    source = composer.source(one)
    named = f"{workload}: input {shown(one.name)}: {composer.pseudonyms.text(printable(source))}"
    try:
        found = copy_input(source, place)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        why = error.strerror or str(error)
        raise CampaignError(f"{named} cannot be copied: {why}; put it right, then run it again") from error
    if found.sha256 != composer.checksums.get(source, found.sha256):
        raise CampaignError(f"{named} changed while the campaign runs; restore it, then run it again")
    _LOG.debug("input copied", extra=fields(input=one.name, n_bytes=found.n_bytes, sha256=found.sha256))
    return {"name": one.name, "bytes": found.n_bytes, "files": found.n_files, "sha256": found.sha256}


def drop_copies(composer: Composer, case: Case, work: Path) -> None:
    """Remove the copies of inputs that a run left as they were: the campaign's record has their checksums."""
    for one in composer.copies(case):
        drop_copy(composer.source(one), _input(_folder(work), one.name, case.workload))


def _input(folder: SafeFolder, name: str, workload: str) -> SafeFolder:
    try:
        return folder / posixpath.normpath(name)
    except OSError as error:
        raise CampaignError(f"{workload}: input file {name!r} is outside its working folder") from error


def compose_stages(
    composer: Composer, case: Case, work: Path, owner: str | None = None, *, is_cached: bool = True
) -> tuple[StagedFolder, ...]:
    """Return the stages of `case`; the output files of the last program, which is measured, have no prefix.

    They have no keys unless they are to be cached, since a key takes reading all that a stage depends on.
    """
    composed = composer.compose(case, work, owner)
    keys = stage_keys(composer, case) if is_cached and len(composed) > 1 else (None,) * len(composed)
    return tuple(
        StagedFolder(stage, invocation, key, f"{prefix}stdout", f"{prefix}stderr")
        for (stage, invocation), key, prefix in zip(composed, keys, _prefixes(composed), strict=True)
    )


def restore(cache: StageCache, staged: StagedFolder, work: Path, output: str) -> bool:
    """Put the cached products of a stage into `work`; return whether the cache has them.

    `output` is the file that the last stage writes its figures to, by name or glob. It is removed, because a
    batch system caches products when the whole job is over, and a later run must not find its figures.
    """
    if staged.key is None or not cache.restore(staged.key, work):
        return False
    folder, _, name = output.rpartition("/")
    for file in SafeFolder(work.parents[2], *work.parts[-3:], *filter(None, [folder])).files(name):
        file.remove()
    return True


def keep(cache: StageCache, staged: StagedFolder, work: Path) -> str:
    """Cache the products of a stage if it has a key; return the missing product as text, empty if none."""
    if staged.key is None:
        return ""
    try:
        cache.keep(staged.key, staged.stage, work)
    except FileNotFoundError as error:
        return f"made no {Path(error.filename).name}"
    return ""


def require_space(folder: Path) -> None:
    """Raise DiskFull unless the file system of `folder` has room for the evidence of one more attempt."""
    try:
        file_system = os.statvfs(folder)
    except OSError as error:
        raise CampaignError.from_os(folder, error) from error
    if file_system.f_bavail * file_system.f_frsize < _LEAST_SPACE:
        raise DiskFull(folder, "space left on this file system")
    if (
        file_system.f_files and file_system.f_favail < _LEAST_INODES
    ):  # f_files is 0 on some file systems, such as Btrfs
        raise DiskFull(folder, f"space for files: {file_system.f_favail} inodes are left on this file system")


def settle_outputs(staged: StagedFolder, work: Path) -> None:
    """Split a finished stage's stderr into the MPI libraries' messages and the program's own output.

    First restore the access rights of the folders that are read, which a program may have removed.
    """
    stage = staged.stage
    restore_rights(_folder(work), SOFTWARE, ranks_folder(stage), reports_folder(stage.name))
    gather(work, stage.name, staged.stdout, staged.stderr)


def _prefixes(composed: tuple[tuple[Stage, Invocation], ...]) -> Iterator[str]:
    last = [stage for stage, _ in composed if not is_epilogue(stage)][-1]
    return ("" if stage is last else f"{stage.name}." for stage, _ in composed)
