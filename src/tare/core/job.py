"""Where processes run: what a backend takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import UNSET, UnsetType

from tare.core.launch import Invocation


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One command to run on `host` (None: on this machine) in `folder`.

    Output goes to `stdout` and `stderr` in that folder. `label` marks every process that the job
    starts, here and on other hosts, so that all of them can be found and ended. Where the hosts do not
    share `folder`, `place` is where it is copied to on each of `hosts`, and from where results come back.
    `n_boosted` ranks wait until their sessions go before others, and then say so in the folder `ranks` in it.
    `on_group` is called with the folder of the job's control group, if it gets one, before its first process
    starts, and with None before that folder goes.
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
    n_boosted: int = 0
    ranks: str = ""
    on_group: Callable[[Path | None], None] | None = None


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended.

    `code` is its exit code, None when `signal` ended it. `fault` is set when the infrastructure, not
    the job, is to blame: the host could not be reached, the command could not be started. `survivors` names
    the processes of this job, or of one before it, that could not be ended. `lingerers` names those that its
    ranks had left behind, and that alone kept its launcher from ending, until they were ended. `excess` says
    of a job that was ended because it printed too much how much that was.
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
    """What a network interface lies on, or what a port of an RDMA adapter is.

    `lower` names the interfaces and ports that count what crosses this one, too; `ports` those that carry its
    RDMA, as DEVICE:PORT. An interface that `is_aggregate`, a bond or a bridge, is all that its lower ones
    carry. `driver` is that of a port. Through one that `carries_rdma` an RDMA device in software sends, as
    soft-RoCE (rxe), which counts no bytes of its own.
    """

    lower: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    is_aggregate: bool = False
    driver: str = ""
    carries_rdma: bool = False


class Counters(msgspec.Struct, frozen=True):
    """What crossed a network interface (netdevice(7), /proc/net/dev) or a port of an RDMA adapter, both ways.

    Where it `is_least`, more may have crossed: a counter had come to the end of its bits, was set back, or
    could be read only once, before or after.
    """

    rx_bytes: int = 0
    rx_packets: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0
    is_least: bool | UnsetType = UNSET
    link: Link | UnsetType = UNSET

    def since(self, earlier: Counters) -> Counters:
        """Return what crossed between `earlier` and now; since it was set back where it was."""
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
        """Bytes in both directions."""
        return self.rx_bytes + self.tx_bytes

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of what crossed, which is not the same as nothing having crossed."""
        return self.is_least is True and self.total_bytes == 0

    @property
    def known_link(self) -> Link:
        """What it lies on, as far as that is known."""
        return self.link if isinstance(self.link, Link) else Link()


def own_counters(counters: Mapping[str, Counters], name: str) -> Counters:
    """Return what crossed `name` itself, without what it carried for interfaces that lie on it.

    A bond or a bridge is what its lower interfaces carry: that is theirs, too.
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

    def clean(self, scope: str) -> int:
        """End every process of a job, or of a session, whose mark `scope` is; return how many there were."""
        ...


class HostRunner(Backend, Protocol):
    """A backend of programs on hosts that Tare names, with what runs beside them: samplers, containers."""

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the command that starts another on a host, called as ssh is; empty where all is here."""
        ...

    def end_earlier(self, campaign: str) -> None:
        """End what earlier sessions of the campaign, which are gone, have left on the hosts."""
        ...

    def adopt(self) -> None:
        """Take the processes that have come to this one by now for no leftovers of its jobs."""
        ...

    def keep(self, pid: int) -> None:
        """Take a child of this process, which runs beside the jobs, for no leftover of theirs."""
        ...
