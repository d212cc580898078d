"""Docker in the lab: a daemon on each host that asks for one; all of it vanishes with the lab."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.calls import call
from tare.core.errors import LabError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import Lab, docker, start

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="docker's daemon takes root"),
    pytest.mark.skipif(bool(docker.missing()), reason=f"no docker here; {docker.CURE}"),
]

SPEC = LabSpec(nodes=2, networks={"host": LabNetwork(kind=LabNetworkKind.BRIDGE)})


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    folder = tempfile.mkdtemp(prefix="t", dir="/tmp")  # sockets need a short path
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    with start(SPEC, owned=True) as running:
        yield running
    shutil.rmtree(folder)


@pytest.fixture
def rootfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root file system that holds no program, but all that makes it one."""
    root = tmp_path / "tiny"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text("ID=tiny\n")
    monkeypatch.setenv("TARE_ROOTFS", str(tmp_path))
    return root


def daemons() -> set[str]:
    """Return the daemons of this machine, ours and others, by their pids."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().strip() in {"dockerd", "containerd"}:
                found.add(path.parent.name)
        except OSError:
            continue
    return found


def test_only_the_hosts_that_ask_have_a_daemon_and_each_its_own(lab: Lab) -> None:
    before = daemons()
    lab.add_docker(["n2"])
    assert list(lab.docker_hosts) == ["n2"]
    assert call(lab, "n2", "docker", "version").returncode == 0
    assert call(lab, "n1", "docker", "version").returncode != 0
    lab.add_docker(["n1", "n2"])
    assert list(lab.docker_hosts) == ["n1", "n2"]
    names = {
        call(lab, host, "docker", "info", "--format", "{{.Name}}").stdout.strip() for host in SPEC.node_names
    }
    assert names == {"n1", "n2"}
    assert len(daemons() - before) == 4


def test_nothing_of_it_outlives_the_lab(lab: Lab) -> None:
    before = daemons()
    lab.add_docker(["n1"])
    assert daemons() - before
    lab.stop()
    assert not daemons() - before
    assert not lab.folder.exists()


def test_a_root_file_system_becomes_an_image(lab: Lab, rootfs: Path) -> None:
    assert docker.known_images() == ["tare/tiny"]
    lab.add_docker(["n1"], ["tare/tiny", "registry.site/other:1"])
    images = call(lab, "n1", "docker", "images", "--format", "{{.Repository}}").stdout.split()
    assert images == ["tare/tiny"]


def test_an_image_without_its_root_file_system_names_the_cure(lab: Lab, rootfs: Path) -> None:
    with pytest.raises(LabError, match="tare lab rootfs --name trixie"):
        lab.add_docker(["n1"], ["tare/trixie"])


def test_the_message_of_a_daemon_that_does_not_start_is_reported(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "dockerd"
    broken.write_text("#!/bin/sh\necho 'level=info msg=hello'\necho no cgroups here\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(LabError, match="n1: no cgroups here"):
        lab.add_docker(["n1"])
    assert lab.docker_hosts == ()
