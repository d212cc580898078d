"""Keep what a stage made, so that cases which need the same do not make it again.

The key holds everything that the result depends on: the commands and files of the stage and of those before
it, its rank layout, the platform, and the content of the inputs and of the programs, as this machine has
them. The network is no part of it: a mesh is the same whatever carried its halo.
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

_encode = msgspec.json.Encoder(order="deterministic").encode


class StageCache(msgspec.Struct, frozen=True):
    """The kept products of stages, below `folder`, each under its key."""

    folder: Path

    def restore(self, key: str, work: Path) -> bool:
        """Copy what is kept under `key` into `work`; return whether there was anything.

        It is copied, since later stages may write into it.
        """
        kept = self.folder / key
        if not kept.is_dir():
            return False
        shutil.copytree(kept, work, symlinks=True, dirs_exist_ok=True)
        return True

    def keep(self, key: str, stage: Stage, work: Path) -> None:
        """Keep the products of `stage` from `work`, with its output; all of them or none.

        Raises FileNotFoundError when the stage did not make what it should have.
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
            if not is_kept:  # by another attempt, at the same time
                raise


def stage_keys(composer: Composer, case: Case) -> tuple[str | None, ...]:
    """Return the key of each stage of `case`; None for a stage that keeps nothing, and for the last one.

    The last stage is the one that is measured.
    """
    platform = composer.site.platforms[case.platform]
    stages = composer.workloads[case.workload].stages(case)
    digest = hashlib.blake2b(_encode([case.platform, platform]), digest_size=12)
    keys: list[str | None] = []
    for stage in stages[:-1]:
        digest.update(_encode([stage, stage.layout or case.layout, composer.storage_path(case)]))
        for path in (*composer.inputs(case, stage), *_programs(stage, platform)):
            digest.update(path.encode())
            for chunk in _content(Path(path)):
                digest.update(chunk)
        keys.append(digest.copy().hexdigest() if stage.keeps else None)
    return (*keys, None)


def _programs(stage: Stage, platform: Platform) -> Iterator[str]:
    """Yield the files of the programs that a stage calls: after an update, they may make another thing.

    Those of a container are its image's, which the platform names; one that a stage before made follows
    from that stage.
    """
    if platform.runtime != "native":
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
    """Yield the content of a file, or of all files of a folder with their names; nothing if there is none."""
    if path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.is_file():
                yield str(inner.relative_to(path)).encode()
                yield from _content(inner)
    elif path.is_file():
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                yield chunk
