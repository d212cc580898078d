"""Jobs on hosts: what a backend takes (`Job`), what it returns (`Exit`, `Counters`), and its protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import UNSET, UnsetType

from tare.core.launch import Invocation

Ready = Callable[[], None]
"""Waits until all is ready for the first process of a job."""

Remove = Callable[[], None]
"""Removes the control group of a job that has ended; further calls do nothing."""


def _ready() -> None:
    pass


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One command to run on `host` (None: on this machine) in `folder`.

    - Its output goes to the files `stdout` and `stderr` in that folder.
    - `label` marks every process that the job starts, here and on other hosts, so that all of them can be
      found and ended.
    - Where the hosts do not share `folder`, it is copied to `staging_folder` on each of `hosts`, and results
      are copied back from there.
    - `n_boosted` ranks wait until their sessions run at a higher priority, and then say so in the folder
      `ranks` in `folder`.
    - `on_begin` is called before its first process starts, with the folder of its control group; None if it
      gets none. It returns a function that is called just before that start.
    - `on_end` is called when all its processes have ended, with a function that removes that folder. It has
      this function called when nobody needs the folder any more.
    """

    label: str
    invocation: Invocation
    host: str | None
    folder: Path
    stdout: str = "stdout"
    stderr: str = "stderr"
    timeout_s: float
    staging_folder: Path | None = None
    hosts: tuple[str, ...] = ()
    n_boosted: int = 0
    ranks: str = ""
    on_begin: Callable[[Path | None], Ready] = lambda group: _ready
    on_end: Callable[[Remove], None] = lambda remove: remove()


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended.

    - `code` is its exit code, None when `signal` ended it.
    - `fault` is set when the infrastructure, not the job, is the cause: the host could not be reached, or the
      command could not be started.
    - `survivors` names the processes of this job, or of an earlier one, that could not be ended.
    - `lingerers` names processes that its ranks had left behind and that alone kept its launcher from ending,
      until they were ended.
    - `excess` is set for a job that was ended because it printed too much: it says how much.
    """

    code: int | None = None
    signal: int | None = None
    is_timeout: bool = False
    elapsed_s: float = 0.0
    fault: str | None = None
    survivors: tuple[str, ...] = ()
    lingerers: tuple[str, ...] = ()
    excess: str = ""


class Link(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is beneath a network interface, or what a port of an RDMA adapter is.

    - `lower` names the interfaces and ports that also count what crosses this one.
    - `ports` names those that carry its RDMA, as DEVICE:PORT.
    - An interface that `is_aggregate`, a bond or a bridge, is the sum of what its lower ones carry.
    - `driver` is that of a port.
    - Through an interface that `carries_rdma`, an RDMA device in software sends, such as soft-RoCE (rxe),
      which counts no bytes of its own.
    """

    lower: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    is_aggregate: bool = False
    driver: str = ""
    carries_rdma: bool = False


class Counters(msgspec.Struct, frozen=True):
    """What crossed a network interface (netdevice(7), /proc/net/dev) or a port of an RDMA adapter, both ways.

    Where it `is_least`, more may have crossed: a counter overflowed, was reset, or could be read only once,
    before or after.
    """

    rx_bytes: int = 0
    rx_packets: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0
    is_least: bool | UnsetType = UNSET
    link: Link | UnsetType = UNSET

    def since(self, earlier: Counters) -> Counters:
        """Return what crossed between `earlier` and now, or since a reset in between."""
        is_set_back = self.rx_bytes < earlier.rx_bytes or self.tx_bytes < earlier.tx_bytes
        is_least = is_set_back or self.is_least is True or earlier.is_least is True
        return Counters(
            _grown(self.rx_bytes, earlier.rx_bytes),
            _grown(self.rx_packets, earlier.rx_packets),
            _grown(self.tx_bytes, earlier.tx_bytes),
            _grown(self.tx_packets, earlier.tx_packets),
            is_least=is_least or UNSET,
            link=self.link,
        )

    @property
    def total_bytes(self) -> int:
        """Return the bytes in both directions."""
        return self.rx_bytes + self.tx_bytes

    @property
    def is_unknown(self) -> bool:
        """Return whether nothing is known of what crossed, which does not mean that nothing crossed."""
        return self.is_least is True and self.total_bytes == 0

    @property
    def known_link(self) -> Link:
        """Return what is beneath it, as far as that is known."""
        return self.link if isinstance(self.link, Link) else Link()


def own_counters(counters: Mapping[str, Counters], name: str) -> Counters:
    """Return what crossed `name` itself, without what it carried for interfaces above it.

    The traffic of a bond or a bridge is not subtracted from its lower interfaces: it is their own, too.
    """
    own = counters[name]
    for one in counters.values():
        if name in one.known_link.lower and not one.known_link.is_aggregate:
            own = Counters(
                max(own.rx_bytes - one.rx_bytes, 0),
                max(own.rx_packets - one.rx_packets, 0),
                max(own.tx_bytes - one.tx_bytes, 0),
                max(own.tx_packets - one.tx_packets, 0),
                is_least=own.is_least,
                link=own.link,
            )
    return own


def _grown(now: int, earlier: int) -> int:
    return now - earlier if now >= earlier else now


class Backend(Protocol):
    """Starts jobs and returns how they ended. Everything that Tare runs is started through a backend."""

    def run(self, job: Job) -> Exit:
        """Run `job` to its end, or to its time-out; none of its processes is alive when this returns.

        An exception that arrives meanwhile, such as KeyboardInterrupt, ends the job's processes before it is
        raised.
        """
        ...

    def read(self, hosts: Sequence[str | None], paths: Sequence[str]) -> Mapping[str | None, dict[str, str]]:
        """Return the text of small files, such as /proc/net/dev, of each host by path.

        A file that cannot be read is left out. Raises BackendError when a host cannot be reached.
        """
        ...

    def ask(self, hosts: Sequence[str | None], script: str) -> Mapping[str | None, str]:
        """Return what a POSIX shell script prints on each host, with any exit code.

        Raises BackendError when a host cannot be reached, or has not finished within half a minute.
        """
        ...

    def clean(self, scope: str) -> int:
        """End every process of the job or session with the label `scope`; return how many there were."""
        ...


class HostRunner(Backend, Protocol):
    """A backend for programs on hosts that Tare names, with what runs beside them: samplers, containers."""

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the command, called as ssh is, that starts another on a host; empty if all run here."""
        ...

    def end_earlier(self, campaign: str) -> None:
        """End what earlier sessions of the campaign, which have ended, left on the hosts."""
        ...

    def adopt(self) -> None:
        """Do not treat processes that this one has adopted by now as leftovers of its jobs."""
        ...

    def keep(self, pid: int) -> None:
        """Do not treat a child of this process that runs beside the jobs as a leftover of theirs."""
        ...
