"""Where processes run: what a backend takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from tare.model.launch import Invocation


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One command to run on `host` (None: on this machine) in `folder`.

    Output goes to `stdout` and `stderr` in that folder. `label` marks every process that the job
    starts, here and on other hosts, so that all of them can be found and ended. Where the hosts do not
    share `folder`, `place` is where it is copied to on each of `hosts`, and from where results come back.
    """

    label: str
    invocation: Invocation
    host: str | None
    folder: Path
    stdout: str = "stdout"
    stderr: str = "stderr"
    timeout_s: float
    place: Path | None = None
    hosts: tuple[str, ...] = ()


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended.

    `code` is its exit code, None when `signal` ended it. `fault` is set when the infrastructure, not
    the job, is to blame: the host could not be reached, the command could not be started.
    """

    code: int | None = None
    signal: int | None = None
    is_timeout: bool = False
    elapsed_s: float = 0.0
    fault: str | None = None


class Counters(msgspec.Struct, frozen=True):
    """What crossed a network interface, both ways (netdevice(7), /proc/net/dev)."""

    rx_bytes: int = 0
    rx_packets: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0

    def since(self, earlier: Counters) -> Counters:
        """Return what crossed between `earlier` and now."""
        return Counters(
            self.rx_bytes - earlier.rx_bytes,
            self.rx_packets - earlier.rx_packets,
            self.tx_bytes - earlier.tx_bytes,
            self.tx_packets - earlier.tx_packets,
        )

    @property
    def total_bytes(self) -> int:
        """Bytes in both directions."""
        return self.rx_bytes + self.tx_bytes


class Backend(Protocol):
    """Starts jobs and tells how they end. The only door through which anything runs."""

    def run(self, job: Job) -> Exit:
        """Run `job` to its end, or to its time-out; nothing of it is alive when this returns.

        An exception that arrives meanwhile, such as KeyboardInterrupt, ends the job's processes
        before it goes on.
        """
        ...

    def read(self, hosts: Sequence[str | None], paths: Sequence[str]) -> Mapping[str | None, dict[str, str]]:
        """Return the text of small files, such as /proc/net/dev, of each host by path.

        A file that cannot be read is left out. Raises BackendError when a host cannot be reached.
        """
        ...

    def ask(self, hosts: Sequence[str | None], script: str) -> Mapping[str | None, str]:
        """Return what a script for a POSIX shell prints on each host, whatever its exit code.

        Raises BackendError when a host cannot be reached, or is not done within half a minute.
        """
        ...

    def clean(self, label_prefix: str) -> int:
        """End every process whose label starts with `label_prefix`; return how many there were."""
        ...
