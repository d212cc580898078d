"""Try in a child process what a lab needs, without a trace: ``python -m tare.lab.probe``.

Prints one JSON object: the name of each trial, and why it failed (empty if it succeeded).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import msgspec

from tare.core.errors import LabError
from tare.lab import namespaces
from tare.lab.namespaces import Mount, Namespace, attempting, mount

TRIALS = ("namespaces", "vxlan", "macvlan", "tbf", "tap")
"""The trials. The links need the namespaces, so they fail if those do."""


def main() -> None:
    """Run all trials and print the results."""
    failures = {"namespaces": _failure(_enter)}
    if failures["namespaces"]:
        failures |= dict.fromkeys(TRIALS[1:], "needs the namespaces")
    else:
        failures |= _try_links()
    sys.stdout.buffer.write(msgspec.json.encode(failures))


def _failure(trial: Callable[[], object]) -> str:
    try:
        trial()
    except LabError as error:
        return str(error)
    return ""


def _enter() -> None:
    """Do what the holder does: enter new namespaces, fork PID 1, and mount /proc."""
    namespaces.enter_user_namespace()
    with attempting("create the lab's namespaces", namespaces.userns_cure):
        namespaces.unshare(
            Namespace.PID | Namespace.NETWORK | Namespace.MOUNT | Namespace.UTS | Namespace.IPC
        )
        child = os.fork()
        if child == 0:
            os._exit(_mount_proc())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with attempting("mount the lab's /proc", namespaces.container_cure):
        if status != 0:
            raise OSError(status, os.strerror(status))


def _mount_proc() -> int:
    try:
        mount("none", "/", flags=Mount.PRIVATE | Mount.RECURSIVE)
        mount("proc", "/proc", "proc", Mount.NOSUID | Mount.NODEV | Mount.NOEXEC)
    except OSError as error:
        return error.errno or 1
    return 0


def _try_links() -> dict[str, str]:
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    from tare.lab.delay import open_tap
    from tare.lab.links import Links

    with IPRoute() as socket:
        links = Links(socket)
        below = links.add("below", "veth", peer={"ifname": "peer"})

        def failure(trial: Callable[[], object]) -> str:
            try:
                trial()
            except NetlinkError as error:
                return str(error.args[1])
            except OSError as error:
                return str(error)
            return ""

        return {
            "vxlan": failure(lambda: links.add("vxlan", "vxlan", vxlan_id=1, vxlan_link=below)),
            "macvlan": failure(lambda: links.add("macvlan", "macvlan", macvlan_mode="bridge", link=below)),
            "tbf": failure(lambda: links.shape(below, 1e9)),
            "tap": failure(lambda: os.close(open_tap("tap"))),
        }


if __name__ == "__main__":
    main()
