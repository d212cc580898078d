"""A cluster with two real nodes, for all tests; they run where `make test-kubernetes` asks for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.conftest import TARE
from kubelab import build, pod_lab
from kubelab.images import images
from kubelab.processes import Daemon, KubelabError

Doc = dict[str, Any]
ROOT = Path(__file__).parents[2]
SITE = ROOT / "studies/sites/kubelab.yaml"
ONCE = '[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 0 ] || echo value: 1.0'
"""A program whose first rank alone prints a figure."""
UP = "export KUBECONFIG="


class PodLab:
    """The cluster, and how Tare is run beside it.

    `started` are processes of tests that belong to it from then on: they end with it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def run(self, *command: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command where the cluster can be reached."""
        words = pod_lab.inside(self.folder, [str(word) for word in command])
        env = {**os.environ, **pod_lab.environment(self.folder)}
        return subprocess.run(
            words, capture_output=True, text=True, env=env, cwd=folder, timeout=600, check=False
        )

    def tare(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Tare."""
        return self.run(TARE, *arguments)

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl prints."""
        done = self.run(*build.command("kubectl"), *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def bytes_through(self, switch: str) -> int:
        """Return how many bytes the cables of a switch have carried: what no pod can be wrong about."""
        cables = json.loads(self.run("ip", "-s", "-j", "link", "show", "master", switch).stdout)
        return sum(int(one["stats64"]["rx"]["bytes"]) for one in cables)


@pytest.fixture(scope="session")
def pods(request: pytest.FixtureRequest) -> Iterator[PodLab]:
    if not request.config.getoption("--real-pods"):
        pytest.skip("real pods take minutes; 'make test-kubernetes' runs them, as root")
    try:
        pod_lab.check()
        build.check()
        images()  # here, since they come from the network
    except KubelabError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="kubelab-") as place:
        folder = Path(place)
        lab = PodLab(folder)
        daemon = Daemon("pods", [sys.executable, "-m", "kubelab", "pods", place], folder / "pods.log")
        daemon.start()
        try:
            daemon.wait_until(lambda: UP in daemon.log.read_text(), "up", 180)
            yield lab
        finally:
            daemon.stop(60)
            for one in lab.started:
                one.kill()
                one.wait()


class Campaign:
    """A study of one workload on the pods, and the command that carries it out."""

    def __init__(self, pods: PodLab, folder: Path) -> None:
        self.pods, self.out = pods, folder / "c"
        self._folder = folder

    def write(
        self,
        *,
        script: str = ONCE,
        platform: str = "openshift",
        networks: Sequence[str] = ("sdn",),
        options: Mapping[str, object] | None = None,
        env: Mapping[str, str] | None = None,
        site: Mapping[str, object] | None = None,
        study: Mapping[str, object] | None = None,
    ) -> Campaign:
        """Write study and site; `options` and `env` are the platform's, the others go to their tops."""
        place: Doc = yaml.safe_load(SITE.read_text())
        place["platforms"][platform]["kubernetes"] |= dict(options or {})
        place["platforms"][platform]["env"] = dict(env or {})
        (self._folder / "site.yaml").write_text(yaml.safe_dump(place | dict(site or {})))
        fom = {"name": "value", "unit": "s", "better": "lower", "regex": r"value: (\S+)"}
        workload = {"command": ["sh", "-c", script], "mpi": True, "needs_transport": False, "foms": [fom]}
        asked: Doc = {
            "study": "pods",
            "question": "Does it run?",
            "site": "site.yaml",
            "platform": platform,
            "workloads": {"own": workload},
            "factors": {"workload": ["own"], "network": list(networks)},
            "nodes": 2,
            "ranks_per_node": 1,
            "repeats": 1,
            "timeout": "2 min",
        }
        (self._folder / "study.yaml").write_text(yaml.safe_dump(asked | dict(study or {})))
        return self

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.pods.tare("run", self._folder / "study.yaml", "--out", self.out, *options)

    def start(self, log: Path) -> subprocess.Popen[bytes]:
        """Start it; what it prints goes to `log`."""
        words = [TARE, "run", str(self._folder / "study.yaml"), "--out", str(self.out)]
        env = {**os.environ, **pod_lab.environment(self.pods.folder)}
        with log.open("ab") as to:
            return subprocess.Popen(pod_lab.inside(self.pods.folder, words), env=env, stdout=to, stderr=to)

    def attempts(self) -> list[Doc]:
        """Return what the journal says of attempts that ended."""
        return attempts(self.out)


@pytest.fixture
def campaign(pods: PodLab, tmp_path: Path) -> Campaign:
    return Campaign(pods, tmp_path)


def attempts(campaign: Path) -> list[Doc]:
    """Return what the journal of a campaign says of attempts that ended."""
    events = [json.loads(line) for line in (campaign / "journal.jsonl").read_text().splitlines()]
    return [event["attempt"] for event in events if event["event"] == "ended"]
