"""A root file system made of this machine's own programs, and the runtimes that can really start it here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tare import plugins
from tare.backends.containers import Host, sweep
from tare.backends.process import ProcessBackend
from tare.lab.containers import engine_conf, oci_runtime, storage_conf
from tare.model.backend import Exit, Job
from tare.model.launch import Engine, Invocation
from tare.model.site import ContainerOptions, Platform

RUNTIMES = ("native", "charliecloud", "podman", "docker")
LABEL = "contract:0:0:"

_PROGRAMS = tuple(path for path in ("/usr", "/bin", "/lib", "/lib64") if Path(path).exists())


class Subject(msgspec.Struct, frozen=True):
    """A runtime under test, what it makes containers of, and a backend that starts it."""

    platform: Platform
    backend: ProcessBackend
    folder: Path

    def run(
        self, *argv: str, env: dict[str, str] | None = None, timeout_s: float = 60.0, name: str = "run"
    ) -> Exit:
        """Run a command inside; its output goes to ``stdout`` in the folder."""
        wrap = plugins.runtime(self.platform.runtime).wrap
        program = wrap(Invocation(argv=argv, env=env or {}), self.platform, str(self.folder))
        label = f"{LABEL}{name};"
        job = Job(label=label, invocation=program, host=None, folder=self.folder, timeout_s=timeout_s)
        return self.backend.run(job)

    @property
    def output(self) -> bytes:
        return (self.folder / "stdout").read_bytes()

    @property
    def containers(self) -> str:
        """What the runtime's engine knows of containers of Tare; nothing where it has no engine."""
        engine = plugins.runtime(self.platform.runtime)
        if not isinstance(engine, Engine):
            return ""
        return subprocess.run(engine.find(self.platform), capture_output=True, text=True, check=True).stdout


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


def _docker(folder: Path) -> Platform:
    if shutil.which("docker") is None:
        pytest.skip("no docker; run: apt install docker.io")
    made = subprocess.run(
        ["sh", "-c", f"tar -C {_rootfs(folder)} -c . | docker import -"], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"docker answers not: {made.stderr.strip()}")
    binds = tuple(f"{path}:{path}:ro" for path in _PROGRAMS)
    return Platform(runtime="docker", container=ContainerOptions(image=made.stdout.strip(), binds=binds))


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


PLATFORMS: dict[str, Callable[[Path], Platform]] = {
    "native": lambda folder: Platform(),
    "charliecloud": _charliecloud,
    "podman": _podman,
    "docker": _docker,
}


@pytest.fixture(scope="session")
def engines_of_our_own() -> Iterator[None]:
    """Let podman keep its state where it is in nobody's way."""
    home = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))  # sockets of podman need a short path
    (home / "containers.conf").write_text(engine_conf(home, oci_runtime() or "runc"))
    (home / "storage.conf").write_text(storage_conf(home, Path("/none")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_CONF", str(home / "containers.conf"))
        patch.setenv("CONTAINERS_STORAGE_CONF", str(home / "storage.conf"))
        yield
    shutil.rmtree(home)


@pytest.fixture(scope="session")
def known_platforms() -> Iterator[dict[str, Platform]]:
    """The platforms by their runtimes' names; what docker was given for them is taken back."""
    known: dict[str, Platform] = {}
    yield known
    if (docker := known.get("docker")) and docker.container:
        subprocess.run(["docker", "image", "rm", "--force", docker.container.source], capture_output=True)


@pytest.fixture(params=RUNTIMES)
def subject(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    known_platforms: dict[str, Platform],
    engines_of_our_own: None,
) -> Iterator[Subject]:
    """Each runtime in turn, that is here; it must leave neither a process nor a container."""
    name = request.param
    if name not in known_platforms:
        known_platforms[name] = PLATFORMS[name](tmp_path_factory.mktemp(name))
    work = tmp_path / "a working 'folder'"
    work.mkdir()
    with ProcessBackend(label=LABEL) as backend:
        one = Subject(known_platforms[name], backend, work)
        trial = one.run("/bin/true")
        if trial.code != 0 and name != "native":
            pytest.skip(f"{name} starts nothing here: {(work / 'stderr').read_text().strip()}")
        yield one
        assert backend.clean(LABEL) == 0
        engine = plugins.runtime(name)
        if isinstance(engine, Engine):  # what was killed before it started, as a campaign does at its end
            sweep(engine, one.platform, [Host(None, ())], {}, lambda label: label.startswith(LABEL))
        assert one.containers == ""
