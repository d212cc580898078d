"""Folders of this machine that stand for pods, and the scripts of pods, really run in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from backends.kubernetes.situations import BASE, Situation
from tare.core.case import Layout
from tare.core.launch import Invocation
from tare.core.scheduler import Step, Task
from tare.plugins.backends.kubernetes.manifests.script import probe_script, rank_script, render
from tare.plugins.backends.kubernetes.options import PhaseTimeouts
from tare.plugins.backends.kubernetes.transfer.following import lines
from tare.plugins.backends.kubernetes.transfer.framing import Sum
from tare.plugins.backends.kubernetes.transfer.receiving import MissingPart, Receiver

SCRIPTS = Path(__file__).parents[3] / "src/tare/plugins/backends/kubernetes/manifests/scripts"


def bring_home(log: bytes, folder: Path, role: str) -> list[MissingPart]:
    """Take in a whole log; return what is missing then."""
    receiver = Receiver(folder, role, {"stdout", "stderr"}, 2**30)
    for line in lines([log]):
        receiver.take(line)
    if receiver.end is None:
        return [MissingPart("end", 0, Sum(1, None))]
    if lacks := receiver.lacks():
        return lacks
    receiver.keep_record()
    return []


class Pods(NamedTuple):
    """Folders that stand for the file systems of a launcher and two workers."""

    root: Path

    def start(self, task: Task, fetched_s: float = 60, **env: str) -> subprocess.Popen[bytes]:
        options = msgspec.structs.replace(BASE.options, timeouts=PhaseTimeouts(fetched_s=fetched_s))
        script = self.located(render(task, options))
        (self.root / "scripts" / "task.sh").write_text(script)
        environment = {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "TARE_NODE": "w0",
            "POD": str(self.root),
            **env,
        }
        return subprocess.Popen(
            ["bash", str(self.root / "scripts" / "task.sh")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip

    def run(self, task: Task, fetched_s: float = 60, **env: str) -> tuple[int, bytes]:
        with self.start(task, fetched_s, **env) as process:
            log, _ = process.communicate(timeout=30)
        return process.returncode, log

    def located(self, text: str) -> str:
        return text.replace("/tare/", '"$POD"/').replace("/etc/mpi/hostfile", f"{self.root}/hostfile")


@pytest.fixture
def pods(tmp_path: Path) -> Pods:
    found = Pods(tmp_path / "pod")
    for name in ("run/ranks", "work", "scripts", "bin"):
        (found.root / name).mkdir(parents=True)
    for name in ("account.sh", "probe.sh", "prepare.sh", "rank.sh"):
        made = {"probe.sh": probe_script, "rank.sh": rank_script}.get(name)
        text = made() if made else (SCRIPTS / name).read_text()
        (found.root / "scripts" / name).write_text(found.located(text))
    (found.root / "scripts" / "facts.sh").write_text("printf '\\036facts\\036here'\n")
    return found


@pytest.fixture
def workers(pods: Pods, tmp_path: Path) -> Pods:
    """Add two workers, and an ssh that knows them."""
    (pods.root / "hostfile").write_text("job-worker-0.job slots=2\njob-worker-1.job slots=2\n")
    for number in (0, 1):
        home = tmp_path / f"job-worker-{number}.job"
        for name in ("run/ranks", "work"):
            (home / name).mkdir(parents=True)
        (home / "scripts").symlink_to(pods.root / "scripts")
        (home / "run" / "node").write_text(f"w{number + 1}")
    ssh = pods.root / "bin" / "ssh"
    ssh.write_text(
        "#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; [[ $1 == *=* || $1 =~ ^[0-9]+$ ]] && shift; done\n"
        f'host=$1; shift\nexport POD={tmp_path}/$host\nexec bash -c "${{*//$MAIN/$POD}}"\n'.replace(
            "$MAIN", str(pods.root).replace("/", "\\/")
        )
    )
    ssh.chmod(0o755)
    return pods


def task_of(folder: Path, *steps: Step, nodes: int = 1, timeout_s: float = 20) -> Task:
    folder.mkdir(exist_ok=True)
    situation: Situation = BASE._replace(layout=Layout(nodes=nodes, ranks=nodes))
    return msgspec.structs.replace(situation.task(folder, timeout_s), steps=steps)


def step(*argv: str, name: str = "run", **fields: object) -> Step:
    return msgspec.structs.replace(
        Step(name=name, invocation=Invocation(argv=argv, env={"VALUE": "a b"})), **fields
    )
