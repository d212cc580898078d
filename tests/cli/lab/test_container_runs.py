"""Studies whose ranks run in real containers in the lab, in both shapes; nothing of them stays."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli.conftest import TARE, Tare, standing_lab
from lab.calls import call
from support.waiting import until
from tare.app.executors import campaign_hash
from tare.core.attempt import State
from tare.lab import Lab, containers, docker
from tare.lab.rootfs import is_built, rootfs_folder
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.sessions import new_session
from tare.storage.campaign import read_campaign

ROOTFS = rootfs_folder() / "debian"

pytestmark = [
    pytest.mark.skipif(not is_built(ROOTFS), reason="no root file system; run: tare lab rootfs"),
    pytest.mark.skipif(bool(containers.missing()), reason=f"no podman; {containers.CURE}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="podman in the lab takes root"),
]


def write_study(folder: Path, platforms: list[str], script: str, repeats: int = 1) -> Path:
    path = folder / "study.yaml"
    study = {
        "study": "boxes",
        "site": "lab",
        "workloads": {
            "ranks": {
                "command": ["sh", "-c", script],
                "foms": [
                    {
                        "name": "is_inside",
                        "unit": "1",
                        "better": "higher",
                        "regex": "rank (?P<rank>[0-9]) of 2: ([01])",
                        "by": "rank",
                    }
                ],
                "mpi": True,
                "needs_transport": False,
            }
        },
        "factors": {"platform": platforms},
        "workload": "ranks",
        "network": "overlay",
        "nodes": 2,
        "repeats": repeats,
        "timeout": "90 s",
    }
    path.write_text(yaml.safe_dump(study))
    return path


HAS_DOCKER = not docker.missing()
needs_docker = pytest.mark.skipif(not HAS_DOCKER, reason=f"no docker; {docker.CURE}")

SCRIPT = """
if [ / -ef /proc/1/root/ ]; then inside=0; else inside=1; fi
echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE: $inside"
"""


MEET = ": >up.$OMPI_COMM_WORLD_RANK; case $PWD in */2.1) sleep 60 ;; esac"
"""Says that a rank is up; in the first try at the second run, it never ends."""


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    """A lab that outlives campaigns, and with it whatever they would leave there: nothing, by any test."""
    with standing_lab("--with", "containers") as lab:
        yield lab


def containers_in(lab: Lab, *, only_running: bool = False) -> list[str]:
    """Return the containers of podman, and of the dockers of both hosts that studies here use."""
    words = ["ps", "--quiet", *([] if only_running else ["--all"])]
    found = call(lab, "n1", "podman", *words).stdout.split()
    for host in ("n1-pod", "n2-pod") if HAS_DOCKER else ():
        found += call(lab, host, "docker", *words).stdout.split()
    return found


def test_ranks_of_every_shape_run_inside_and_know_each_other(
    shared_lab: Lab, tare: Tare, tmp_path: Path
) -> None:
    platforms = ["debian", "podman-rank", "podman-node", "charliecloud"]
    platforms += ["docker-rank", "docker-node"] if HAS_DOCKER else []
    done = tare("run", write_study(tmp_path, platforms, SCRIPT), "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(tare("export", tmp_path / "c", "--format", "json").stdout)["rows"]
    inside = {(row["platform"], str(row["rank"])): row["value"] for row in rows if row["fom"] == "is_inside"}
    expected = {(name, rank): float(name != "debian") for name in platforms for rank in "01"}
    assert inside == expected
    assert containers_in(shared_lab) == []


@pytest.mark.usefixtures("shared_lab")
def test_inputs_are_inside_of_containers_of_every_shape(tare: Tare, tmp_path: Path) -> None:
    platforms = ["debian", "podman-rank", "podman-node", "charliecloud"]
    script = 'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE: $(cat in/mesh.dat)"'
    study = write_study(tmp_path, platforms, script)
    study.write_text(f"{study.read_text()}inputs: {{in/mesh.dat: mesh.dat}}\n")
    (tmp_path / "mesh.dat").write_text("1\n")
    done = tare("run", study, "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(tare("export", tmp_path / "c", "--format", "json").stdout)["rows"]
    values = {(row["platform"], row["value"]) for row in rows if row["fom"] == "is_inside"}
    assert values == {(name, 1.0) for name in platforms}


@pytest.mark.usefixtures("shared_lab")
def test_what_ranks_ran_in_is_recorded(tare: Tare, tmp_path: Path) -> None:
    tare("run", write_study(tmp_path, ["podman-node"], SCRIPT), "--out", tmp_path / "c")
    (record,) = (tmp_path / "c" / "environments").iterdir()
    facts = json.loads(record.read_text())["n1-pod"]
    assert facts["platform.runtime"] == "podman"
    assert facts["platform.image"] == str(ROOTFS)
    assert facts["platform.shape"] == "a container a node"
    assert facts["platform.image_digest"].startswith("packages:")
    assert "Debian" in facts["platform.image_distribution"]


@pytest.mark.parametrize(
    "platform",
    [
        "charliecloud",
        "podman-rank",
        "podman-node",
        pytest.param("docker-rank", marks=needs_docker),
        pytest.param("docker-node", marks=needs_docker),
    ],
)
def test_kill_9_leaves_nothing_and_the_campaign_goes_on_where_it_was(
    shared_lab: Lab, tare: Tare, tmp_path: Path, platform: str
) -> None:
    """The second of two runs is under way; the first is not run again."""
    campaign = tmp_path / "c"
    script = f"{MEET}; {SCRIPT}"
    study = write_study(tmp_path, [platform], script, repeats=2)
    runner = subprocess.Popen([TARE, "run", str(study), "--out", str(campaign)], stdout=subprocess.DEVNULL)
    until(lambda: len(list(campaign.glob("attempts/*/2.1/up.*"))) == 2, within_s=60)
    assert process_labels.labelled_pids(f"{campaign_hash(campaign)}:")
    runner.kill()
    runner.wait()
    until(lambda: not containers_in(shared_lab, only_running=True))
    until(lambda: not process_labels.labelled_pids(f"{campaign_hash(campaign)}:"))
    assert tare("run", campaign).returncode == 0
    assert [(one.block, one.attempt, one.state) for one in read_campaign(campaign).measured()] == [
        (1, 1, State.DONE),
        (2, 2, State.DONE),
    ]
    assert containers_in(shared_lab) == []
    assert tare("clean").stdout == "nothing is left behind\n"


def test_clean_removes_a_container_that_never_started(shared_lab: Lab, tare: Tare) -> None:
    """As where podman was killed between making a container and starting it."""
    label = f"tare.job={new_session('dead')._replace(pid=4194303)}case/1.0;"
    create = ["podman", "create", "--label", label, "--rootfs", str(ROOTFS), "true"]
    made = call(shared_lab, "n1", *create)
    assert made.returncode == 0, made.stderr
    assert len(containers_in(shared_lab)) == 1
    assert "would remove container" in tare("clean", "--dry-run").stdout
    assert len(containers_in(shared_lab)) == 1
    assert "removed container" in tare("clean").stdout
    assert containers_in(shared_lab) == []


@pytest.mark.usefixtures("shared_lab")
def test_a_container_without_the_mpi_is_no_cluster(tare: Tare, tmp_path: Path) -> None:
    site = {
        "site": "lab-without-mpi",
        "lab": {
            "nodes": 4,
            "networks": {"host": {"kind": "bridge"}, "overlay": {"kind": "vxlan", "over": "host"}},
        },
        "platforms": {
            "boxes": {
                "launcher": "openmpi4",
                "prefix": "/opt/no-mpi",
                "runtime": "podman",
                "container": {"shape": "node", "rootfs": str(ROOTFS), "options": ["--privileged"]},
            }
        },
    }
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))
    study = write_study(tmp_path, ["boxes"], SCRIPT)
    study.write_text(study.read_text().replace("site: lab", "site: site.yaml"))
    done = tare("run", study, "--out", tmp_path / "c")
    assert done.returncode == 3
    assert "its MPI, /opt/no-mpi, is not in the container; bind it" in done.stderr


def test_a_lab_whose_path_is_too_long_for_sockets_is_explained(
    tare: Tare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 60)
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    done = tare("run", write_study(tmp_path, ["podman-rank"], SCRIPT), "--out", tmp_path / "c")
    assert done.returncode == 3
    assert "set XDG_RUNTIME_DIR to a short path" in done.stderr
