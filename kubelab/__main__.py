"""Bring up a real Kubernetes on this machine, for tests."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from kubelab import build, pod_lab
from kubelab.control_plane import ControlPlane
from kubelab.operators import operator
from kubelab.prebuilt import option, variable
from kubelab.processes import KubelabError
from kubelab.simulated_nodes import SimulatedNodes

_PID = pod_lab.PID
_PREBUILT = {
    "binaries": "A folder with Kubernetes' own programs, kwok and coredns, which are then not built.",
    "operator": "A real MPI Operator.",
    "operator_crd": "The definition of MPIJobs that comes with it.",
    "multus": "A real Multus, the thin plug-in.",
    "whereabouts": "A real whereabouts.",
    "whereabouts_crd": "The definitions that come with it: a file, or a folder.",
}
_Command = Callable[..., Any]


def _takes_prebuilt(*names: str) -> Callable[[_Command], _Command]:
    """Give a command the options for prebuilt programs; environment variables pass them on."""

    def keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            os.environ[variable(str(parameter.name))] = value

    def decorate(command: _Command) -> _Command:
        for name in reversed(names):
            command = click.option(
                option(name), metavar="PATH", envvar=variable(name), show_envvar=True, expose_value=False,
                callback=keep, help=_PREBUILT[name],
            )(command)  # fmt: skip
        return command

    return decorate


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Bring up a real Kubernetes on this machine, for tests.

    \b
    Examples:
      python -m kubelab build
      python -m kubelab up /tmp/cluster &
      KUBECONFIG=/tmp/cluster/admin.kubeconfig tare doctor --site site.yaml
      python -m kubelab kubectl /tmp/cluster get nodes
      python -m kubelab down /tmp/cluster
      python -m kubelab pods /tmp/pods &
      python -m kubelab enter /tmp/pods tare run study.yaml
    """


@main.command("build")
def build_programs() -> None:
    """Build the programs from their sources, once: with Go, which fetches modules from its proxy."""
    build.build()
    click.echo(f"kubelab: {build.folder()}")
    for module, version in build.versions().items():
        click.echo(f"{module} {version}")


@main.command()
@click.argument("place", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER")
@click.option("--nodes", default=3, show_default=True, help="How many nodes to simulate.")
@_takes_prebuilt("binaries", "operator", "operator_crd")
def up(place: Path, nodes: int) -> None:
    """Hold a cluster with simulated nodes, its state and logs in FOLDER, until Ctrl-C or `down`.

    Its API is real, and so are controllers and scheduler; pods run nothing. There is no MPI Operator,
    unless one is given.
    """
    place.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(place))
        stack.enter_context(SimulatedNodes(cluster, nodes, _write_log))
        if cluster.prebuilt.operator is not None:
            daemon = operator(cluster)
            daemon.start()
            stack.callback(daemon.kill)
        (place / _PID).write_text(str(os.getpid()))
        click.echo(f"export KUBECONFIG={cluster.kubeconfig}")
        try:
            signal.pause()
        except KeyboardInterrupt:
            click.echo("kubelab: ending", err=True)
        finally:
            (place / _PID).unlink(missing_ok=True)


def _write_log(namespace: str, pod: str) -> bytes:
    return f"{namespace}/{pod} is simulated, and writes nothing\n".encode()


@main.command()
@click.argument("place", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER")
@click.option("--nodes", default=pod_lab.NODES, show_default=True, help="How many nodes to make.")
@click.option("--rate", default=pod_lab.RATE, show_default=True, help="What a node's uplink sends at most.")
@_takes_prebuilt(*_PREBUILT)
def pods(place: Path, nodes: int, rate: str) -> None:
    """Hold a cluster with real nodes, in which pods run, until Ctrl-C or `down`. Needs root.

    It is in namespaces of its own, which `enter` enters. At first images are built, of Debian's packages.
    """
    place.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sys.exit(pod_lab.hold(place.resolve(), nodes, rate))


@main.command("hold-pods", hidden=True)
@click.argument("place", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--nodes", type=int, required=True)
@click.option("--rate", required=True)
def hold_pods(place: Path, nodes: int, rate: str) -> None:
    """Be what `pods` has put into namespaces."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt), pod_lab.pod_lab(place, nodes, rate) as cluster:
        click.echo(f"export KUBECONFIG={cluster.kubeconfig}")
        signal.pause()


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("place", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def enter(place: Path, command: tuple[str, ...]) -> None:
    """Run a command where the cluster that `pods` holds in FOLDER can be reached.

    There, `kubelab-ssh NODE` starts commands on its nodes, outside of pods, as ssh does.
    """
    words = pod_lab.inside(place.resolve(), list(command))
    os.execvpe(words[0], words, {**os.environ, **pod_lab.environment(place.resolve())})


@main.command()
@click.argument("place", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER")
def down(place: Path) -> None:
    """End the cluster that an `up` or `pods` elsewhere holds in FOLDER."""
    try:
        pid = int((place / _PID).read_text())
        if b"kubelab" not in Path(f"/proc/{pid}/cmdline").read_bytes():  # another process has this pid now
            raise ProcessLookupError(pid)
        os.kill(pid, signal.SIGTERM)
    except (OSError, ValueError) as error:
        raise KubelabError(f"no cluster is up in {place}") from error


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("place", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kubectl(place: Path, arguments: tuple[str, ...]) -> None:
    """Run kubectl against the cluster in FOLDER."""
    words = [*build.command("kubectl"), f"--kubeconfig={place / 'admin.kubeconfig'}", *arguments]
    if pod_lab.has_real_nodes(place):
        words = pod_lab.inside(place.resolve(), words)
    os.execvp(words[0], words)


if __name__ == "__main__":
    try:
        main(prog_name="python -m kubelab")
    except KubelabError as failure:
        sys.exit(f"kubelab: {failure}")
