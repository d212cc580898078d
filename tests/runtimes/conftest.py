"""A root file system made of this machine's own programs, and the runtimes that can really start it here.

Docker's daemon, where root can start one, is that of a lab's node: so it touches nothing of this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from lab.calls import running_lab
from tare.core.containers import ContainerOptions
from tare.core.errors import LabError
from tare.core.job import Exit, Job
from tare.core.launch import Engine, Invocation
from tare.core.site import LabSpec, Platform
from tare.lab import AGENT, Lab, docker
from tare.lab.containers import engine_conf, oci_runtime, storage_conf
from tare.plugins import registry
from tare.plugins.backends.hosts.containers import Host, find_labelled, sweep
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend

RUNTIMES = ("native", "charliecloud", "podman", "docker")
LABEL = str(new_session("contract"))
"""Of this process, while it lives: what carries the mark of one that is gone, any `tare clean` may end."""

_PROGRAMS = tuple(path for path in ("/usr", "/bin", "/lib", "/lib64") if Path(path).exists())


class Place(msgspec.Struct, frozen=True):
    """What a runtime under test makes containers of, and where: on this machine, or on a lab's node."""

    platform: Platform
    host: Host = Host(None, ())
    env: dict[str, str] = {}


class Subject(msgspec.Struct, frozen=True):
    """A runtime under test, where it is, and a backend that starts it."""

    place: Place
    backend: ProcessBackend
    folder: Path

    @property
    def platform(self) -> Platform:
        return self.place.platform

    def run(
        self, *argv: str, env: dict[str, str] | None = None, timeout_s: float = 60.0, name: str = "run"
    ) -> Exit:
        """Run a command inside; its output goes to ``stdout`` in the folder."""
        wrap = registry.runtime(self.platform.runtime).wrap
        program = wrap(Invocation(argv=argv, env=env or {}), self.platform, str(self.folder))
        label = f"{LABEL}{name};"
        host = self.place.host.name
        job = Job(label=label, invocation=program, host=host, folder=self.folder, timeout_s=timeout_s)
        return self.backend.run(job)

    @property
    def output(self) -> bytes:
        return (self.folder / "stdout").read_bytes()

    @property
    def containers(self) -> dict[str, str]:
        """What the runtime's engine knows of containers of Tare; nothing where it has no engine."""
        engine = registry.runtime(self.platform.runtime)
        if not isinstance(engine, Engine):
            return {}
        return find_labelled(engine, self.platform, self.place.host, self.place.env)


def _charliecloud(folder: Path) -> Platform:
    if shutil.which("ch-run") is None:
        pytest.skip("no Charliecloud; run: apt install charliecloud-runtime")
    root = _rootfs(folder)
    binds = tuple(f"{path}:{path}" for path in _PROGRAMS)
    return Platform(runtime="charliecloud", container=ContainerOptions(rootfs=str(root), binds=binds))


def _podman(folder: Path) -> Platform:
    if shutil.which("podman") is None:
        pytest.skip("no podman; run: apt install podman runc")
    if os.geteuid() != 0:
        pytest.skip("podman over a root file system takes root here")
    binds = tuple(f"{path}:{path}:ro" for path in _PROGRAMS)
    return Platform(runtime="podman", container=ContainerOptions(rootfs=str(_rootfs(folder)), binds=binds))


def _docker(folder: Path, lab: Lab) -> Place:
    """Return a node of `lab` with a daemon that has an image of this machine's programs."""
    host, env = Host("n1", (str(AGENT),)), {**os.environ, **lab.env}
    made = subprocess.run(
        host.command(["sh", "-c", f"tar -C {_rootfs(folder)} -c . | docker import -"]),
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    binds = tuple(f"{path}:{path}:ro" for path in _PROGRAMS)
    options = ContainerOptions(image=made.stdout.strip(), binds=binds)
    return Place(Platform(runtime="docker", container=options), host, env)


def _rootfs(folder: Path) -> Path:
    root = folder / "rootfs"
    for name in ("dev", "proc", "sys", "tmp", "etc", *(path.strip("/") for path in _PROGRAMS)):
        (root / name).mkdir(parents=True)
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (root / "etc" / name).write_text(
            Path("/etc", name).read_text() if Path("/etc", name).exists() else ""
        )
    (root / "etc/inside").write_text("yes\n")
    return root


@pytest.fixture(scope="session")
def shared() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def podman_of_our_own(shared: ExitStack) -> None:
    """Let podman keep its state where it is in nobody's way."""
    home = _short_folder(shared)
    (home / "containers.conf").write_text(engine_conf(home, oci_runtime() or "runc"))
    (home / "storage.conf").write_text(storage_conf(home, Path("/none")))
    patch = shared.enter_context(pytest.MonkeyPatch.context())
    patch.setenv("CONTAINERS_CONF", str(home / "containers.conf"))
    patch.setenv("CONTAINERS_STORAGE_CONF", str(home / "storage.conf"))


@pytest.fixture(scope="session")
def docker_lab(shared: ExitStack) -> Lab:
    """A lab of one node on which docker's daemon runs; both end with this process, however it ends."""
    if docker.missing():
        pytest.skip(f"no docker here; {docker.CURE}")
    if os.geteuid() != 0:
        pytest.skip("docker's daemon takes root")
    lab = shared.enter_context(running_lab(LabSpec(nodes=1, networks={}), _short_folder(shared)))
    try:
        lab.add_docker(["n1"])
    except LabError as error:
        pytest.skip(f"docker does not run here: {error}")
    return lab


def _short_folder(shared: ExitStack) -> Path:
    """Return a new folder whose path leaves room for the sockets of engines (unix(7))."""
    folder = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))
    shared.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


@pytest.fixture(scope="session")
def places() -> dict[str, Place]:
    """Where each runtime that was asked for is, by its name."""
    return {}


def _place_of(name: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    match name:
        case "charliecloud":
            return Place(_charliecloud(folder))
        case "podman":
            request.getfixturevalue("podman_of_our_own")
            return Place(_podman(folder))
        case "docker":
            return _docker(folder, request.getfixturevalue("docker_lab"))
        case _:
            return Place(Platform())


@pytest.fixture(params=RUNTIMES)
def subject(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    places: dict[str, Place],
) -> Iterator[Subject]:
    """Each runtime in turn, that is here; it must leave neither a process nor a container."""
    name = request.param
    is_new = name not in places
    if is_new:
        places[name] = _place_of(name, tmp_path_factory.mktemp(name), request)
    place = places[name]
    work = tmp_path / "a working 'folder'"
    work.mkdir()
    hosts = [] if place.host.name is None else [place.host.name]
    with ProcessBackend(label=LABEL, agent=place.host.agent, hosts=hosts, env=place.env) as backend:
        one = Subject(place, backend, work)
        if is_new and name != "native" and one.run("/bin/true").code != 0:
            del places[name]
            pytest.skip(f"{name} starts nothing here: {(work / 'stderr').read_text().strip()}")
        yield one
        assert backend.clean(LABEL) == 0
        engine = registry.runtime(name)
        if isinstance(engine, Engine):  # what was killed before it started, as a campaign does at its end
            sweep(engine, one.platform, [place.host], place.env, lambda label: label.startswith(LABEL))
        assert one.containers == {}
