"""Copy an attempt's folder to hosts that do not share it, and copy results back: tar(1) over the agent.

tar is used, not rsync, because every node has it and it takes any file name. Extracted files never leave the
folder, because GNU tar drops ``/`` and ``..`` from the names of members.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from tare.core import log
from tare.core.errors import BackendError
from tare.core.log import fields
from tare.plugins.backends.hosts.openssh import explain

_LOG = log.of("ssh")

_TIMEOUT_S = 600.0
_BEGIN = "tare-begins"  # text before it is from the login shell


class Transfer:
    """Copies between a folder of this machine and the folder `place` of each of `hosts`."""

    def __init__(
        self, agent: Sequence[str], hosts: Sequence[str], place: Path, env: Mapping[str, str]
    ) -> None:
        self._agent = list(agent)
        self._hosts = tuple(dict.fromkeys(hosts))
        self._place = shlex.quote(str(place))
        self._env = dict(env)

    def send(self, folder: Path) -> None:
        """Copy the content of `folder` to every host. Raises BackendError."""
        _LOG.info("files are sent", extra=fields(hosts=self._hosts, folder=str(folder), to=self._place))
        pack = ["tar", "-C", str(folder), "-cf", "-", "."]
        for host in self._hosts:
            unpack = self._on(host, f"mkdir -p -- {self._place} && tar -C {self._place} -xf -")
            self._pipe(pack, unpack, host)

    def fetch(self, folder: Path) -> None:
        """Copy the hosts' files into `folder`. Where files differ, those of the first host are kept."""
        _LOG.info("files are fetched", extra=fields(hosts=self._hosts, folder=str(folder)))
        unpack = ["tar", "-C", str(folder), "--no-same-owner", "-xf", "-"]
        for host in reversed(self._hosts):
            pack = self._on(host, f"printf '%s\\n' {_BEGIN}; tar -C {self._place} -cf - .")
            self._pipe(pack, unpack, host, begin=_BEGIN)

    def remove(self) -> bool:
        """Remove the folder from the hosts.

        Return whether it is gone from all; a host that does not answer keeps it.
        """
        codes = [
            subprocess.run(
                self._on(host, f"rm -rf -- {self._place}"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=self._env,
                timeout=_TIMEOUT_S,
            ).returncode
            for host in self._hosts
        ]
        return not any(codes)

    def _on(self, host: str, script: str) -> list[str]:
        _LOG.debug("command", extra=fields(host=host, command=script))
        return [*self._agent, host, script]

    def _pipe(self, source: Sequence[str], sink: Sequence[str], host: str, begin: str = "") -> None:
        """Pass the output of `source` to `sink`. With `begin`, pass only what follows the line `begin`."""
        with (
            self._start(source, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as packer,
            self._start(sink, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as unpacker,
            _killed_on_error(packer, unpacker),
        ):
            packed, taken = cast(IO[bytes], packer.stdout), cast(IO[bytes], unpacker.stdin)
            has_begun = not begin or any(line.rstrip(b"\n") == begin.encode() for line in packed)
            if has_begun:
                with contextlib.suppress(BrokenPipeError):  # its exit code shows why
                    shutil.copyfileobj(packed, taken)
            with contextlib.suppress(BrokenPipeError):
                taken.close()
            packed.close()
            failed = unpacker.wait(_TIMEOUT_S) or packer.wait(_TIMEOUT_S)
            if has_begun and not failed:
                return
            message = b"".join(cast(IO[bytes], one.stderr).read() for one in (packer, unpacker))
        why = explain(host, message.decode(errors="replace")) if message else f"tar ended with {failed}"
        raise BackendError(f"the working folder cannot be copied to or from host {host}: {why}")

    def _start(self, argv: Sequence[str], *, stdin: int, stdout: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=self._env)


@contextlib.contextmanager
def _killed_on_error(*processes: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for process in processes:
            process.kill()
        raise
