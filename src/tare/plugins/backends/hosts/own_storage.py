"""Give each run a folder of its own on a storage path, and remove the folder after the run.

Two runs never share a folder: its name holds the campaign, the session of `tare run`, the case and the
attempt, and the first host makes it with mkdir(2), which fails if the name is taken. Each folder is on record
until it is gone. A folder is removed only if it is on record under its name, is no symbolic link and belongs
to this user. Links inside it are not followed.

The guard of a dead runner calls ``python -m tare.plugins.backends.hosts.own_storage LABEL``, which removes
the folders that runner left: these, and working folders that were copied to hosts (see staged).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tare.core.errors import BackendError, StorageError
from tare.plugins.backends.hosts import staged
from tare.plugins.backends.hosts.commands import HostCommands
from tare.plugins.backends.hosts.folder_records import FolderRecord
from tare.plugins.backends.ownership.sessions import Fate, judge

Ask = Callable[[Sequence[str | None], str], Mapping[str | None, str]]
"""Runs a shell script on hosts (see core.job.Backend.ask)."""

_MADE, _GONE = "tare-made", "tare-gone"
_MOST_ROUNDS = 90
"""How often a long removal is continued. Each round lasts as long as an answer may take."""


class OwnFolder(FolderRecord, frozen=True, kw_only=True):
    """The folder of the run of this label on `hosts`. Without an agent, it is on this machine."""

    kind = "storage"

    hosts: tuple[str | None, ...]
    folder: str

    @property
    def path(self) -> str:
        """Return the path of the folder on its hosts (see FolderRecord)."""
        return self.folder


class OwnStorage:
    """Gives runs folders of their own.

    `agent` reaches the hosts after this process is gone. Without an agent, the folder is looked for on this
    machine. The same holds where hosts are namespaces of this machine that end with this process. With
    `keeps`, folders are not removed and not put on record.
    """

    def __init__(self, ask: Ask, *, agent: Sequence[str] = (), keeps: bool = False) -> None:
        self._ask = ask
        self._agent = tuple(agent)
        self._keeps = keeps

    @contextlib.contextmanager
    def own(self, folder: str, hosts: Sequence[str | None], label: str, *, is_open: bool) -> Iterator[None]:
        """Keep `folder` on every one of `hosts` while this is entered.

        With `is_open`, everybody may write to it, because programs in containers may run as other users.
        Raises StorageError with the system's own message if it cannot be made, and BackendError if a host
        cannot be reached.
        """
        named = tuple(hosts) if self._agent else (None,)
        record = OwnFolder(label=label, agent=self._agent, hosts=named, folder=folder)
        first, *others = hosts
        if not self._keeps:
            record.write()
        has_made = False
        try:
            self._make([first], make_script(folder, is_open=is_open), folder)
            has_made = True
            if others:
                self._make(others, join_script(folder, is_open=is_open), folder)
            yield
        finally:
            if not self._keeps:
                self._remove(record, hosts, has_made=has_made)

    def _make(self, hosts: Sequence[str | None], script: str, folder: str) -> None:
        for host, output in self._ask(hosts, script).items():
            if _MADE not in output:
                where = f" on {host}" if host else ""
                raise StorageError(
                    f"this run's folder on the storage path could not be made{where}: "
                    f"{' '.join(output.split()) or 'no message'}; let {Path(folder).parent} be a folder "
                    "there that you may write to, or correct the site's 'storage'"
                )

    def _remove(self, record: OwnFolder, hosts: Sequence[str | None], *, has_made: bool) -> None:
        """Remove a folder and its record.

        If the folder cannot be removed, the record stays for `tare clean`.
        """
        with contextlib.suppress(BackendError):
            if not has_made or remove_from(self._ask, hosts, record.folder):
                record.delete()


def make_script(folder: str, *, is_open: bool = False) -> str:
    """Return shell text that makes the new folder `folder` and prints that it did, or the error."""
    mode = "-m 1777 " if is_open else ""
    return f"mkdir {mode}-- {shlex.quote(folder)} 2>&1 && echo {_MADE}"


def join_script(folder: str, *, is_open: bool = False) -> str:
    """Return shell text that makes `folder` on a further node, unless it shares the first node's folder."""
    return f"{{ {_is_ours(folder)}; }} && echo {_MADE} || {{ {make_script(folder, is_open=is_open)}; }}"


def remove_script(folder: str) -> str:
    """Return shell text that removes `folder` if it is this user's.

    It works for as long as an answer may take, and prints ``more`` if it must be called again.
    """
    removal = f"timeout 20 rm -rf --one-file-system -- {shlex.quote(folder)} 2>&1"
    return (
        f"if {_is_ours(folder)}; then {removal}; [ $? = 124 ] && echo more; fi; "
        f"[ -e {shlex.quote(folder)} ] || echo {_GONE}"
    )


def _is_ours(folder: str) -> str:
    quoted = shlex.quote(folder)
    return f"[ -d {quoted} ] && [ ! -L {quoted} ] && [ -O {quoted} ]"


def remove_from(ask: Ask, hosts: Sequence[str | None], folder: str) -> bool:
    """Remove `folder` from the first of `hosts`, then from the others that have one of their own."""
    first, *others = hosts
    return all(_is_gone(ask, group, folder) for group in ([first], others) if group)


def _is_gone(ask: Ask, hosts: Sequence[str | None], folder: str) -> bool:
    for _ in range(_MOST_ROUNDS):
        output = ask(hosts, remove_script(folder)).values()
        if all(_GONE in one for one in output):
            return True
        if not any("more" in one.split() for one in output):
            return False
    return False


def remove(record: OwnFolder) -> bool:
    """Remove a folder that a dead runner left. Return whether it is gone; then its record is deleted, too."""
    reach = HostCommands(record.agent, os.environ)
    try:
        ask = partial(_ask_hosts, reach) if record.agent else ask_here
        is_gone = remove_from(ask, record.hosts, record.folder)
    except BackendError:
        return False
    finally:
        reach.close()
    if is_gone:
        record.delete()
    return is_gone


def _ask_hosts(reach: HostCommands, hosts: Sequence[str | None], script: str) -> Mapping[str | None, str]:
    output = reach.run({host: script for host in hosts if host is not None})
    return {host: output[host] for host in hosts if host is not None}


def ask_here(hosts: Sequence[str | None], script: str) -> Mapping[str | None, str]:
    """Return what a shell script prints on this machine, for each of `hosts` (see Ask)."""
    done = subprocess.run(
        ["/bin/sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return dict.fromkeys(hosts, done.stdout.decode(errors="replace"))


def main() -> None:
    """Remove what a runner left, found by its session's label. Do nothing while the runner is alive."""
    copied = ((one, owner, partial(staged.remove, one)) for one, owner in staged.Staged.recorded())
    own = ((one, owner, partial(remove, one)) for one, owner in OwnFolder.recorded())
    for one, owner, end in (*copied, *own):
        if one.label.startswith(sys.argv[1]) and judge(one.label, owner).fate is Fate.DEAD:
            end()


if __name__ == "__main__":
    main()
