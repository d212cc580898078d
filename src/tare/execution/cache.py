"""Cache the products of stages, so that cases with the same stage do not run it again.

The cache key is a hash of everything on which the products depend: the commands and files of the stage and of
earlier stages, the rank layout, the platform, and the content of the inputs and programs on this machine. The
network is not part of the key, since a mesh, for example, does not depend on it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tare.core.case import Case
from tare.core.site import Platform
from tare.core.workload import Stage
from tare.execution.compose import Composer
from tare.execution.inputs import file_names
from tare.execution.profiling import is_outside, with_profile

_encode = msgspec.json.Encoder(order="deterministic").encode


class StageCache(msgspec.Struct, frozen=True):
    """The cached products of stages: one folder for each key, in `folder`."""

    folder: Path

    def restore(self, key: str, work: Path) -> bool:
        """Copy the products under `key` into `work`; return whether the cache has them.

        They are copied, not linked, because later stages may write to them.
        """
        kept = self.folder / key
        if not kept.is_dir():
            return False
        shutil.copytree(kept, work, symlinks=True, dirs_exist_ok=True)
        return True

    def keep(self, key: str, stage: Stage, work: Path) -> None:
        """Cache the products and outputs of `stage` from `work`: all of them or none.

        Raises FileNotFoundError if the stage did not make one of its products.
        """
        self.folder.mkdir(exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=self.folder, prefix=".draft-"))
        try:
            for name in (*stage.keeps, *_outputs(stage, work)):
                for path in sorted(work.glob(name)) or [work / name]:
                    _copy(path, draft / path.relative_to(work))
            draft.rename(self.folder / key)
        except BaseException as error:
            shutil.rmtree(draft, ignore_errors=True)
            is_kept = isinstance(error, OSError) and error.errno in {errno.EEXIST, errno.ENOTEMPTY}
            if not is_kept:  # another attempt may have cached them at the same time
                raise


def stage_keys(composer: Composer, case: Case) -> tuple[str | None, ...]:
    """Return the cache key of each stage of `case`; None for a stage without products.

    The last program has none either: it is measured, so it always runs. So do prologue and epilogue.
    """
    platform = composer.site.platforms[case.platform]
    stages = with_profile(composer.workloads[case.workload].stages(case), case, platform)
    prologue, epilogue = composer.around(case)
    before = [prologue] if prologue else []
    digest = hashlib.blake2b(_encode([case.platform, platform, *before]), digest_size=12)
    if software := composer.software(case):
        digest.update(_encode(software))
    for one in composer.copies(case):
        digest.update(_encode([one, composer.checksums.get(composer.source(one))]))
    keys: list[str | None] = []
    for stage in stages[:-1]:
        layout = stage.layout or (case.layout if stage.is_mpi else None)  # one process makes the same in each
        digest.update(_encode([stage, layout, composer.storage_path(case)]))
        for path in (*composer.inputs(case, stage), *_programs(stage, platform)):
            digest.update(path.encode())
            for chunk in _content(Path(path)):
                digest.update(chunk)
        keys.append(digest.copy().hexdigest() if stage.keeps else None)
    around = [(None,) * len(commands) for commands in (prologue, epilogue)]
    return (*around[0], *keys, None, *around[1])


def _programs(stage: Stage, platform: Platform) -> Iterator[str]:
    """Yield the files of the programs that a stage calls: after an update, the products may differ.

    Programs in a container are not yielded, since the platform names their image. Nor is a program that an
    earlier stage made, since it depends on that stage.
    """
    if platform.runtime != "native" and not is_outside(stage):
        return
    prefix = (f"{platform.prefix}/bin",) if platform.prefix else ()
    own = os.pathsep.join((*platform.path, *prefix))
    for name in (stage.argv[0], *stage.programs):
        if os.sep in name and not Path(name).is_absolute():
            continue
        if path := shutil.which(name, path=own) or shutil.which(name):
            yield str(Path(path).resolve())


def _outputs(stage: Stage, work: Path) -> Iterator[str]:
    for name in (f"{stage.name}.stdout", f"{stage.name}.stderr"):
        if (work / name).exists():
            yield name


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(path, target, follow_symlinks=False)


def _content(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, or the names and contents of all files of a folder; nothing if absent."""
    if path.is_dir():
        for name in file_names(path):
            if (inner := path / name).is_file():
                yield os.fsencode(name) + f"\0{inner.stat().st_size}\0".encode()
                yield from _content(inner)
    elif path.is_file():
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                yield chunk
