"""Run the processes that hold the namespaces of the lab's hosts, its nodes and pods."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from tare.core.errors import LabError
from tare.lab.namespaces import Mount, Namespace, die_with_parent, mount, name_process, unshare


def start_hosts(names: Sequence[str], scratch: Path) -> dict[str, int]:
    """Start a process for each host; return their pids when all have their namespaces.

    `scratch` is an empty folder that they may mount on. Raises LabError with the reason of a failure.
    """
    pids: dict[str, int] = {}
    reports: dict[str, int] = {}
    for name in names:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _hold(name, scratch, writing)
        os.close(writing)
        pids[name], reports[name] = pid, reading
    for name, reading in reports.items():
        with os.fdopen(reading, "rb") as report:
            answer = report.read().decode()
        if answer != "ready":
            raise LabError(f"host {name} cannot be made: {answer or 'its process ended'}")
    return pids


def _hold(name: str, scratch: Path, report: int) -> None:
    """Become host `name`, report that, and stay until killed. Never returns."""
    try:
        die_with_parent()
        name_process(f"tare-{name}")
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the holder blocks those that it waits for
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _become(name, scratch)
        os.write(report, b"ready")
        os.close(report)
        while True:
            signal.pause()
    except OSError as error:
        os.write(report, str(error).encode())
    finally:
        os._exit(1)


def _become(name: str, scratch: Path) -> None:
    unshare(Namespace.NETWORK | Namespace.UTS | Namespace.MOUNT | Namespace.IPC)
    socket.sethostname(name)
    if Path("/dev/shm").is_dir():  # noqa: S108  # ours alone: ranks on two nodes must not meet here
        mount("shm", "/dev/shm", "tmpfs", Mount.NOSUID | Mount.NODEV)  # noqa: S108
    # Some containers forbid a new sysfs. Only UCX needs it; the host's sysfs is enough for everything else.
    with contextlib.suppress(OSError):
        _mount_sysfs(scratch)
    disable_ipv6()


def _mount_sysfs(scratch: Path) -> None:
    """Show this network namespace's interfaces in /sys, and the machine's cgroups as before.

    A sysfs shows the interfaces of the network namespace in which it was mounted; in another one, UCX finds
    only ``lo``.
    """
    mount("sysfs", scratch, "sysfs", Mount.NOSUID | Mount.NODEV | Mount.NOEXEC)
    cgroups = Path("/sys/fs/cgroup")
    if cgroups.is_dir():
        mount(cgroups, scratch / "fs/cgroup", flags=Mount.BIND | Mount.RECURSIVE)
    mount(scratch, "/sys", flags=Mount.MOVE)


def disable_ipv6() -> None:
    """Switch IPv6 off, so that its own packets are not in this network namespace's counters (ip-sysctl)."""
    for which in ("all", "default"):
        switch = Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6")
        if switch.exists():  # a kernel without IPv6 has none
            switch.write_text("1")
