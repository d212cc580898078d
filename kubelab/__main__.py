"""Bring up a real Kubernetes on this machine, for tests."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import click

from kubelab import pod_lab
from kubelab.build import build, folder, versions
from kubelab.control_plane import ControlPlane
from kubelab.processes import KubelabError
from kubelab.simulated_nodes import SimulatedNodes

_PID = pod_lab.PID


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
    build()
    click.echo(f"kubelab: {folder()}")
    for module, version in versions().items():
        click.echo(f"{module} {version}")


@main.command()
@click.argument("place", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER")
@click.option("--nodes", default=3, show_default=True, help="How many nodes to simulate.")
def up(place: Path, nodes: int) -> None:
    """Hold a cluster with simulated nodes, its state and logs in FOLDER, until Ctrl-C or `down`.

    Its API is real, and so are controllers and scheduler; pods run nothing. There is no MPI Operator.
    """
    place.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ControlPlane(place) as cluster, SimulatedNodes(cluster, nodes, _write_log):
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
    """Run a command where the cluster that `pods` holds in FOLDER can be reached."""
    words = pod_lab.inside(place.resolve(), list(command))
    os.environ["KUBECONFIG"] = str(place.resolve() / "admin.kubeconfig")
    os.execvp(words[0], words)


@main.command()
@click.argument("place", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER")
def down(place: Path) -> None:
    """End the cluster that an `up` or `pods` elsewhere holds in FOLDER."""
    try:
        pid = int((place / _PID).read_text())
        if b"kubelab" not in Path(f"/proc/{pid}/cmdline").read_bytes():  # its number is another's now
            raise ProcessLookupError(pid)
        os.kill(pid, signal.SIGTERM)
    except (OSError, ValueError) as error:
        raise KubelabError(f"no cluster is up in {place}") from error


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("place", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kubectl(place: Path, arguments: tuple[str, ...]) -> None:
    """Run kubectl against the cluster in FOLDER."""
    binary = str(folder() / "kubelab")
    os.execv(binary, [binary, "kubectl", f"--kubeconfig={place / 'admin.kubeconfig'}", *arguments])


if __name__ == "__main__":
    try:
        main(prog_name="python -m kubelab")
    except KubelabError as failure:
        sys.exit(f"kubelab: {failure}")
