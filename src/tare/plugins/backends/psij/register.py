"""Record which jobs are Tare's, because PSI/J lists jobs by their ids alone, without names or comments.

A campaign keeps one file for each job, named by the job's id, beside PSI/J's own files. The user's state
folder (XDG Base Directory Specification) holds the path of each campaign that has jobs, so that `tare clean`
finds the campaigns.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError, UsageError
from tare.plugins.backends.psij.options import SAFE
from tare.plugins.backends.psij.systems import Executor


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a job: its name, its comment as `batch.leftovers` writes it, and its script.

    `way` is the command prefix that reaches the host of the batch system's commands (see library.Reach).
    """

    name: str
    comment: str
    script: str
    way: tuple[str, ...] = ()


class Register:
    """The jobs of one campaign in the batch system of `executor`.

    `work` is the campaign's folder for PSI/J.
    """

    def __init__(self, work: Path, executor: Executor, campaigns: Path) -> None:
        self.executor = executor
        self.work = work
        self._folder = work / "jobs" / executor.value
        key = hashlib.blake2b(str(work).encode(), digest_size=6).hexdigest()
        self._campaign = campaigns / key

    def add(self, number: str, entry: Entry) -> None:
        """Record a job. Raises BackendError if the record cannot be written."""
        try:
            self._campaign.parent.mkdir(parents=True, exist_ok=True)
            self._campaign.write_text(f"{self.work}\n")
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / number).write_bytes(msgspec.json.encode(entry))
        except OSError as error:
            raise BackendError(f"job {number} could not be put on record: {error}") from error

    def remove(self, number: str) -> None:
        """Delete the record of a job that is over. With the last job, also delete the campaign's record."""
        with contextlib.suppress(OSError):
            (self._folder / number).unlink(missing_ok=True)
            if not self.entries():
                self._folder.rmdir()
                self._folder.parent.rmdir()  # unless the campaign has jobs elsewhere
                self._campaign.unlink(missing_ok=True)

    def entries(self) -> Mapping[str, Entry]:
        """Return the recorded jobs by their ids.

        Only files of this user are read: others may write to a campaign's folder, and `tare clean` ends the
        recorded jobs.
        """
        found = {}
        for path in sorted(self._folder.glob("*")):
            with contextlib.suppress(OSError, *NOT_JSON):
                status = path.lstat()
                if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                    continue
                found[path.name] = decode_json(path.read_bytes(), type=Entry)
        return found


def campaigns_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds the paths of this user's campaigns with jobs."""
    state = env.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "tare" / "psij"


def work_folder(campaign_folder: Path, campaign: str) -> Path:
    """Return the folder of PSI/J's files for a campaign. It is in the campaign's folder, where nodes see it.

    If PSI/J's scripts cannot hold that path, return one in the user's home. Raises UsageError if they cannot
    hold that path either.
    """
    for work in (campaign_folder / "psij", campaigns_folder().parent / "psij-work" / campaign):
        if SAFE.fullmatch(str(work)):
            return work
    raise UsageError(
        f"PSI/J's scripts can hold neither {campaign_folder} nor the home folder: keep the campaign in a "
        "folder whose path has only letters, digits and @%+=:,./-_"
    )


def registers(campaigns: Path) -> Iterator[Register]:
    """Yield the register of each campaign and batch system. Forget campaigns whose folders are gone."""
    for path in sorted(campaigns.glob("*")):
        try:
            work = Path(path.read_text().rstrip("\n"))
        except OSError:
            continue
        executors = [one.name for one in (work / "jobs").glob("*")]
        if not executors:
            with contextlib.suppress(OSError):
                path.unlink()
        for name in executors:
            with contextlib.suppress(ValueError):
                yield Register(work, Executor(name), campaigns)
