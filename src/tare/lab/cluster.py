"""A containerised cluster in the lab: members that are reached by ssh, and know each other by name.

A node that joins gets an sshd of its own, and its pod a container with an sshd. Containers use the network
of their pod, so they talk over the lab's overlay. A hosts file that all containers see is the name service:
it has the names of members only, and is written anew whenever a node joins or leaves.

All processes are in the lab's PID namespace and all files in its tmpfs, so they end with the lab. Outside,
the lab's folder has a configuration of ssh that enters the lab. Inside, the same path is a configuration
for members that call each other.

Sources: sshd_config(5), ssh_config(5), podman-run(1), hosts(5).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core.errors import LabError, UsageError
from tare.lab import containers, rootfs
from tare.lab.commands import find_program, run, write

if TYPE_CHECKING:
    from tare.lab.lab import Lab
    from tare.lab.topology import Topology

CURE = "on Debian: apt install openssh-server openssh-client podman runc"
_BOX_CURE = "build it with: tare lab rootfs --name cluster"
_PORT = 22
_ALIAS = "tare-lab"
"""The name of all members' common host key."""

_UNLIMITED = 'ulimit -l unlimited 2>/dev/null; exec "$@"'
"""Raise the limit of locked memory for a command, if this user may; RDMA wants it unlimited."""

_UNLESS_THERE = '[ -e "$1" ] || { shift; exec "$@"; }'
"""Run a command unless the file that it makes is there, as after a start that was interrupted."""

_OWN_RUN = 'mount -t tmpfs run /run && mkdir /run/sshd && exec "$@"'
"""sshd wants the folder /run/sshd; nothing is created on the machine."""

_SAME_WEIGHT = (
    f"for c in /sys/fs/cgroup/cpu/{containers.CGROUP} /sys/fs/cgroup/{containers.CGROUP}; do "
    '[ ! -d "$c" ] || { mkdir -p "$c/$0" && echo $$ >"$c/$0/cgroup.procs"; }; done 2>/dev/null; exec "$@"'
)
"""Join a control group beside those of the containers.

They have a weight of their own on a busy machine. Without the same one, programs on bare nodes were ten
times as slow as in containers.
"""

_END = 'read -r pid <"$1" || exit 0; read -r kids <"/proc/$pid/task/$pid/children"; kill $pid $kids; rm "$1"'
"""End the sshd that wrote its pid to a file, and its connections."""


def missing() -> list[str]:
    """Return the programs that the cluster needs and that this machine lacks."""
    lacking = [one for one in ("sshd", "ssh", "ssh-keygen") if find_program(one) is None]
    return [*lacking, *containers.missing()]


def folder_of(lab: Lab) -> Path:
    """Return the cluster's folder. The path is the same inside, with other files."""
    return lab.folder / "cluster"


def ssh_config_of(lab: Lab) -> Path:
    """Return the configuration with which ssh reaches members: ``ssh -F PATH n1-pod``."""
    return folder_of(lab) / "ssh_config"


def members(lab: Lab) -> tuple[str, ...]:
    """Return the nodes that have joined, in the order of the lab's nodes."""
    joined = folder_of(lab) / "members"
    return tuple(node for node in lab.nodes if (joined / node).exists())


def bring_up(lab: Lab, box: Path | None = None, share: Path | None = None) -> str:
    """Make the cluster of all nodes; return what users should know about it.

    `box` is the root file system of the containers. `share` is the folder that they share with the nodes, for
    campaigns; by default the working directory. Raises LabError with the reason and the cure.
    """
    if lacking := missing():
        raise LabError(f"the cluster needs {', '.join(lacking)}, which this machine lacks; {CURE}")
    box = box or rootfs.rootfs_folder() / rootfs.CLUSTER
    if not (box / "usr/sbin/sshd").exists():
        raise LabError(f"no root file system with sshd is in {box}; {_BOX_CURE}")
    share = (share or Path.cwd()).resolve()
    if share == Path("/") or ":" in str(share):
        raise LabError(f"the cluster cannot share {share}; start it in the folder where campaigns will be")
    lab.add_service("containers")
    _write_files(lab, box, share)
    for node in lab.nodes:
        join(lab, node)
    _name_members(lab)
    reach = f"ssh -F {shlex.quote(str(ssh_config_of(lab)))} {next(iter(lab.topology.pods), lab.nodes[0])}"
    return f"{describe_locked_memory(lab)}; members share {share}, and are reached by: {reach}"


def join(lab: Lab, node: str) -> bool:
    """Start what makes `node` a member, and add its names; return whether it was none before.

    Raises UsageError if there is no such node or no cluster, and LabError if it cannot start.
    """
    _require_node(lab, node)
    if node in members(lab):
        return False
    _end(lab, node)  # what a start left that was interrupted
    inside = folder_of(lab)
    box = (inside / "rootfs").read_text()
    keep = ["sh", "-c", _UNLIMITED, "sh"]
    sshd = [find_program("sshd") or "sshd", "-f", str(inside / "sshd_config"), "-o"]
    bare = ["unshare", "--mount", "sh", "-c", _OWN_RUN, "sh", *sshd, f"PidFile={inside}/{node}.pid"]
    run(lab, node, [*keep, "sh", "-c", _SAME_WEIGHT, f"cluster-{node}", *bare])
    for pod in _pods(lab.topology, node):
        run(lab, pod, [*keep, *_start(lab, pod, box)])
    (inside / "members" / node).touch()
    _name_members(lab)
    return True


def leave(lab: Lab, node: str) -> bool:
    """Remove the names of `node`, then end its container and its sshd; return whether it was a member.

    Connections to it end. Raises UsageError if there is no such node or no cluster.
    """
    _require_node(lab, node)
    if node not in members(lab):
        return False
    (folder_of(lab) / "members" / node).unlink()
    _name_members(lab)
    _end(lab, node)
    return True


def sshd_config(folder: Path) -> str:
    """Return the configuration of all members' sshd: root with the lab's own key, and nothing else."""
    return "\n".join(
        [
            f"Port {_PORT}",
            f"HostKey {folder}/host_key",
            f"AuthorizedKeysFile {folder}/key.pub",
            "StrictModes no",  # the lab's folder belongs to the user, who need not be root outside
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "PidFile none",
            "MaxStartups 200",
            "",
        ]
    )


def ssh_config(folder: Path, connect: str = "") -> str:
    """Return the configuration of ssh; `connect` is the command that reaches a member from outside."""
    settings = {
        "User": "root",
        "IdentityFile": f"{folder}/key",
        "IdentitiesOnly": "yes",
        "HostKeyAlias": _ALIAS,
        "UserKnownHostsFile": f"{folder}/known_hosts",
        "StrictHostKeyChecking": "yes",
        "LogLevel": "ERROR",
        **({"ProxyCommand": connect} if connect else {}),
    }
    return "Host *\n" + "".join(f"  {name} {value}\n" for name, value in settings.items())


def hosts_text(topology: Topology, joined: Collection[str]) -> str:
    """Return hosts(5) with the names of the hosts of members."""
    hosts = {*joined, *(pod for node in joined for pod in _pods(topology, node))}
    aliases = topology.aliases()
    lines = topology.etc_hosts().splitlines()
    known = [line for line in lines[1:] if aliases[line.split("\t")[1]] in hosts]
    return "\n".join([lines[0], *known, ""])


def environment(folder: Path) -> dict[str, str]:
    """Return the variables by which programs find the cluster in the lab of a folder: none."""
    return {}


def _end(lab: Lab, node: str) -> None:
    """End the container of a node's pod, and the node's sshd, where they are."""
    for pod in _pods(lab.topology, node):
        run(lab, pod, [*_podman(lab), "rm", "--force", "--ignore", "--time", "1", _container(pod)])
    run(lab, node, ["sh", "-c", f"{{ {_END}; }} 2>/dev/null; :", "sh", str(folder_of(lab) / f"{node}.pid")])


def _require_node(lab: Lab, node: str) -> None:
    if not (folder_of(lab) / "members").is_dir():
        raise UsageError(f"the lab {lab.name!r} has no cluster; start it with: tare lab up --with cluster")
    if node not in lab.nodes:
        raise UsageError(f"the lab {lab.name!r} has no node {node!r}; it has {', '.join(lab.nodes)}")


def _pods(topology: Topology, node: str) -> list[str]:
    return [pod for pod in topology.pods if pod == f"{node}-pod"]


def _container(pod: str) -> str:
    return f"tare-cluster-{pod}"


def _podman(lab: Lab) -> list[str]:
    variables = [f"{name}={value}" for name, value in containers.environment(lab.folder).items()]
    return ["env", *variables, "podman"]


def _start(lab: Lab, pod: str, box: str) -> list[str]:
    """Return the command that starts the container of a pod; its root file system is read-only."""
    folder = folder_of(lab)
    sshd = f"mkdir -p /run/sshd && exec /usr/sbin/sshd -D -e -f {shlex.quote(str(folder / 'sshd_config'))}"
    options = ["--rm", "--detach", "--name", _container(pod), "--ulimit", "host", "--shm-size", "1g"]
    options += ["--network", "host", "--uts", "host", f"--cgroup-parent=/{containers.CGROUP}", "--read-only"]
    options += ["--volume", f"{folder}:{folder}:ro", "--volume", f"{folder}/hosts:/etc/hosts:ro"]
    share = (folder / "share").read_text()
    options += ["--volume", f"{share}:{share}"]
    if Path("/opt").is_dir():  # programs that the machine's user installed are the same in all members
        options += ["--volume", "/opt:/opt:ro"]
    return [*_podman(lab), "run", *options, "--rootfs", box, "/bin/sh", "-c", sshd]


def _write_files(lab: Lab, box: Path, share: Path) -> None:
    """Write keys and configurations, inside and outside."""
    from tare.lab.lab import AGENT

    folder, first = folder_of(lab), lab.nodes[0]
    (folder / "members").mkdir(parents=True, exist_ok=True)
    (folder / "rootfs").write_text(str(box))
    (folder / "share").write_text(str(share))
    run(lab, first, ["mkdir", "-p", "-m", "700", str(folder)])
    keygen = [find_program("ssh-keygen") or "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", _ALIAS, "-f"]
    for name in ("key", "host_key"):
        path = str(folder / name)
        run(lab, first, ["sh", "-c", _UNLESS_THERE, "sh", path, *keygen, path])
    public = run(lab, first, ["cat", str(folder / "host_key.pub")])
    known = f"{_ALIAS} {' '.join(public.split()[:2])}\n"
    write(lab, first, folder / "known_hosts", known)
    write(lab, first, folder / "sshd_config", sshd_config(folder))
    write(lab, first, folder / "ssh_config", ssh_config(folder))
    write(lab, first, folder / "hosts", hosts_text(lab.topology, ()))
    key = folder / "key"
    key.touch(mode=0o600)
    key.write_text(run(lab, first, ["cat", str(key)]) + "\n")
    (folder / "known_hosts").write_text(known)
    words = [sys.executable, "-P", "-m", "tare.lab.relay", str(_PORT)]
    connect = f"env TARE_LAB_DIR={shlex.quote(str(lab.folder))} {AGENT} %h {shlex.join(words)}"
    ssh_config_of(lab).write_text(ssh_config(folder, connect))


def _name_members(lab: Lab) -> None:
    """Write the hosts file in place, since containers have mounted this very file; never leave it empty."""
    text = hosts_text(lab.topology, members(lab))
    script = 'cat 1<>"$1" && truncate -s "$2" "$1"'
    path = folder_of(lab) / "hosts"
    run(lab, lab.nodes[0], ["sh", "-c", script, "sh", str(path), str(len(text.encode()))], text)


def describe_locked_memory(lab: Lab) -> str:
    """Return the limit of locked memory that programs on the first member have."""
    host = next(iter(lab.topology.pods), lab.nodes[0])
    limit = run(lab, lab.nodes[0], ["ssh", "-F", str(ssh_config_of(lab)), host, "ulimit -l"])
    if limit == "unlimited":
        return "with unlimited locked memory"
    return f"with {limit} KiB of locked memory, as much as this user may have"
