"""The process that holds a lab together: ``python -m tare.lab.holder FOLDER``, a request on stdin.

There are two processes. The *keeper* enters a user namespace, forks, and waits outside: it writes the state
as seen from outside, watches the owner and cleans up. Its child is PID 1 of a new PID namespace: the
*holder*. It owns the switches' network namespace and the hosts' processes. When the holder ends, for any
reason, the kernel kills every process in the PID namespace (pid_namespaces(7)). With the last process the
network and mount namespaces end, with all their links and mounts.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import LabError, TareError
from tare.core.site import LAB_STORAGE, LabSpec
from tare.lab import namespaces, state
from tare.lab.host import disable_ipv6, start_hosts
from tare.lab.namespaces import Mount, Namespace, attempting, mount, unmount
from tare.lab.topology import Topology, lay_out


class Request(msgspec.Struct, frozen=True):
    """The request of the starter, as one line of JSON. An owned lab ends when stdin is closed."""

    name: str
    spec: LabSpec
    is_owned: bool


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer, as one line of JSON: an error, or the pids of hosts and switches."""

    error: str = ""
    pids: dict[str, int] = {}
    switches: dict[str, int] = {}


def main() -> int:
    """Run the keeper until the lab has ended; return its exit code."""
    folder = Path(sys.argv[1])
    request = decode_json(sys.stdin.buffer.readline(), type=Request)
    if not request.is_owned and os.fork() != 0:
        return 0  # the daemon's parent ends; its starter waits for that
    try:
        holder = _start_holder(request, folder)
    except LabError as error:
        _send(Report(error=str(error)))
        return error.exit_code
    _send(Report())
    _watch(holder, owner=sys.stdin.fileno() if request.is_owned else None)
    if request.is_owned:  # its folder has a random name, which nobody else uses
        state.remove(folder)
    return 0


def _start_holder(request: Request, folder: Path) -> int:
    """Fork the holder, wait until it has built the lab, write the state; return its pid."""
    namespaces.enter_user_namespace()
    with attempting("create a PID namespace", namespaces.userns_cure):
        namespaces.unshare(Namespace.PID)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os._exit(hold(request, folder, writing))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        line = pipe.readline()
    report = decode_json(line, type=Report) if line else Report(error="its holder was killed")
    if report.error:
        os.waitpid(pid, 0)
        raise LabError(report.error)
    outer = _outer_pids(pid)
    record = state.Record(
        name=request.name,
        spec=request.spec,
        is_owned=request.is_owned,
        started_at=time.time(),
        holder=state.ProcessIdentity.of(pid),
        pids={host: outer[inner] for host, inner in report.pids.items()},
        switches={name: outer[inner] for name, inner in report.switches.items()},
    )
    state.write(folder, record, lay_out(request.spec).aliases(), state.FROM_OUTSIDE)
    return pid


def _outer_pids(holder: int) -> dict[int, int]:
    """Return the pids of the holder's children in our PID namespace, by their pid in the holder's."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended since
            continue
        if int(fields["PPid"]) == holder:
            found[int(fields["NSpid"].split()[-1])] = int(fields["Pid"])
    return found


def _send(report: Report) -> None:
    """Send the report to the starter, and close the pipe to it."""
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _watch(holder: int, owner: int | None) -> None:
    """Wait for the holder to end, and kill it when the far end of the pipe `owner` is closed."""
    ended = os.pidfd_open(holder)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    if owner is not None:
        poll.register(owner, select.POLLIN | select.POLLHUP)
    ready = {descriptor for descriptor, _ in poll.poll()}
    if ended not in ready:
        os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)


def hold(request: Request, folder: Path, report: int) -> int:
    """Run as the holder: build the lab, report to the pipe `report`, and stay until SIGTERM."""
    namespaces.die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGTERM))
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    try:
        built = _build(request, folder)
    except TareError as error:
        os.write(report, msgspec.json.encode(Report(error=str(error))) + b"\n")
        return error.exit_code
    os.write(report, msgspec.json.encode(built) + b"\n")
    os.close(report)
    return _reap({f"host {host}": pid for host, pid in built.pids.items()} | built.switches)


def _build(request: Request, folder: Path) -> Report:
    """Build the lab; return the pids of the processes without which it cannot be."""
    topology = lay_out(request.spec)
    with attempting("create the lab's namespaces", namespaces.userns_cure):
        namespaces.unshare(Namespace.NETWORK | Namespace.MOUNT | Namespace.UTS | Namespace.IPC)
    with attempting("mount the lab's /proc", namespaces.container_cure):
        mount("none", "/", flags=Mount.PRIVATE | Mount.RECURSIVE)  # no mount of ours reaches the machine
        mount("proc", "/proc", "proc", Mount.NOSUID | Mount.NODEV | Mount.NOEXEC)
        disable_ipv6()
    with attempting("give the lab its /etc/hosts", namespaces.container_cure):
        scratch = _cover(folder, topology)
    pids = start_hosts(topology.hosts, scratch)
    from tare.lab.links import build  # imported late, so that the hosts' processes need not carry pyroute2

    switches = {f"the switch of {one.name}": one.start() for one in build(topology, pids)}
    record = state.Record(
        name=request.name,
        spec=request.spec,
        is_owned=request.is_owned,
        started_at=time.time(),
        holder=state.ProcessIdentity.of(os.getpid()),
        pids=pids,
    )
    state.write(folder, record, topology.aliases(), state.FROM_INSIDE)
    return Report(pids=pids, switches=switches)


def _cover(folder: Path, topology: Topology) -> Path:
    """Mount the inside view over the state folder, and our names over /etc/hosts; return a scratch folder."""
    mount("lab", folder, "tmpfs", Mount.NOSUID | Mount.NODEV)
    names = folder / "etc-hosts"
    names.write_text(topology.etc_hosts())
    mount(names, "/etc/hosts", flags=Mount.BIND)
    scratch = folder / "scratch"
    scratch.mkdir()
    if topology.servers:
        _make_mount_points(scratch, topology)
    return scratch


def _make_mount_points(scratch: Path, topology: Topology) -> None:
    """Make a folder for each storage path in LAB_STORAGE, without a change of the machine's own folders.

    What the machine has beside LAB_STORAGE stays visible: folders are bound into the tmpfs that covers them.
    """
    base = Path(LAB_STORAGE)
    parent = base.parent
    mount(parent, scratch, flags=Mount.BIND | Mount.RECURSIVE)
    mount("lab", parent, "tmpfs", Mount.NOSUID | Mount.NODEV)
    for path in scratch.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name != base.name:
            (parent / path.name).mkdir()
            mount(path, parent / path.name, flags=Mount.BIND | Mount.RECURSIVE)
    base.mkdir()
    for fabric in topology.fabrics:
        if fabric.storage is not None:
            (base / fabric.storage).mkdir()
    unmount(scratch)


def _reap(pids: dict[str, int]) -> int:
    """Reap orphans, as PID 1 must, until SIGTERM or until one of the processes `pids`, by name, has ended."""
    names = {pid: name for name, pid in pids.items()}
    while signal.sigwait((signal.SIGCHLD, signal.SIGTERM)) == signal.SIGCHLD:
        while True:  # one signal may stand for several children
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 1
            if pid == 0:
                break
            if pid in names:
                print(f"{names[pid]} was killed; the lab ends", file=sys.stderr, flush=True)  # noqa: T201
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
