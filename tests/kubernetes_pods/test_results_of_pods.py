"""Whether what programs write in real pods comes home whole, whatever its size and whatever happens."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cli.conftest import TARE
from kubelab import build, pod_lab
from kubernetes_pods.conftest import Campaign, PodLab
from support.waiting import until

_OURS = "app.kubernetes.io/managed-by=tare"
_PATIENCE_S = 120
_FIGURE = '[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 0 ] || '
_RANDOM = "head -c 50000000 /dev/urandom"
_COMPRESSIBLE = "seq 6900000 | head -c 50000000"
_FILES = "for i in $(seq 24); do head -c 4000000 /dev/urandom >file.$i; done"


def _script(work: str) -> str:
    """Return a program whose first rank does `work`, and then tells the checksum of what it wrote."""
    return f"{_FIGURE}({work}; echo; echo value: 1.0)"


def _home(campaign: Campaign) -> Path:
    [attempt] = campaign.attempts()
    assert attempt["state"] == "done", attempt["reason"]
    [folder] = (campaign.out / "attempts").glob("*/*")
    return folder


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("work", [_RANDOM, _COMPRESSIBLE], ids=["random", "compressible"])
def test_fifty_megabytes_of_stdout_are_received(campaign: Campaign, work: str) -> None:
    script = _script(f"{work} >data; cat data; sha256sum data >sum; rm data")
    done = campaign.write(platform="openmpi", script=script).run()
    assert done.returncode == 0, done.stdout + done.stderr
    folder = _home(campaign)
    reported = (folder / "sum").read_text().split()[0]
    data = (folder / "stdout").read_bytes()
    assert hashlib.sha256(data[:50_000_000]).hexdigest() == reported
    assert data[50_000_000:].decode().split() == ["value:", "1.0"]


def test_many_files_of_four_megabytes_are_received(campaign: Campaign) -> None:
    script = _script(f"{_FILES}; sha256sum file.* >sums")
    done = campaign.write(platform="openmpi", script=script).run()
    assert done.returncode == 0, done.stdout + done.stderr
    folder = _home(campaign)
    sums = [line.split() for line in (folder / "sums").read_text().splitlines()]
    reported = {name: sha256 for sha256, name in sums}
    assert len(reported) == 24
    assert {name: _sum(folder / name) for name in reported} == reported


def test_output_is_there_while_its_program_runs_and_after_a_kill_and_a_rotation(
    campaign: Campaign, pods: PodLab, tmp_path: Path
) -> None:
    """40 MB in half a minute: more than a kubelet keeps of a log. Tare is killed in the middle of it."""
    part = "head -c 4000000 /dev/urandom >data; cat data; cat data >>all; sleep 3"
    script = _script(f"for i in 1 2 3 4 5 6 7 8 9 10; do {part}; done; sha256sum all >sum; rm all data")
    campaign.write(platform="openmpi", script=script)
    words = pod_lab.inside(
        pods.folder, [TARE, "run", str(tmp_path / "study.yaml"), "--out", str(campaign.out)]
    )
    env = {**os.environ, "KUBECONFIG": str(pods.folder / "admin.kubeconfig")}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(words, env=env, stdout=log, stderr=log)

    def size() -> int:
        return sum(one.stat().st_size for one in campaign.out.glob("attempts/*/*/stdout"))

    until(lambda: size() > 6_000_000, _PATIENCE_S, every_s=0.3)
    assert "Running" in pods.kubectl("get", "pods", "-l", f"{_OURS},tare/role=launcher")
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(12)
    done = campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    folder = _home(campaign)
    data = (folder / "stdout").read_bytes()
    assert hashlib.sha256(data[:40_000_000]).hexdigest() == (folder / "sum").read_text().split()[0]
    until(
        lambda: not pods.kubectl("get", "mpijobs,jobs,pods,configmaps", "-l", _OURS, "-o", "name"),
        _PATIENCE_S,
        every_s=0.3,
    )


def test_an_api_server_that_is_killed_while_results_are_received_loses_nothing(
    campaign: Campaign, pods: PodLab, tmp_path: Path
) -> None:
    """It is killed twice: while the program prints, and while its files are fetched."""
    part = "head -c 2000000 /dev/urandom >data; cat data; cat data >>all; sleep 3"
    files = "for i in 1 2; do head -c 100000000 /dev/urandom >file.$i; done; sha256sum all file.* >sums"
    script = _script(f"for i in 1 2 3 4 5 6; do {part}; done; {files}; rm all data")
    campaign.write(platform="openmpi", script=script)
    words = pod_lab.inside(
        pods.folder, [TARE, "run", str(tmp_path / "study.yaml"), "--out", str(campaign.out)]
    )
    env = {**os.environ, "KUBECONFIG": str(pods.folder / "admin.kubeconfig")}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(words, env=env, stdout=log, stderr=log)
    try:
        for name, n_bytes in (("stdout", 1_000_000), ("file.1", 1_000_000)):
            until(lambda name=name, n=n_bytes: _size(campaign, name) > n, _PATIENCE_S, every_s=0.3)  # type: ignore[misc]
            _kill_api_server(pods)
        assert process.wait(timeout=300) == 0, (tmp_path / "log").read_text()
        folder = _home(campaign)
        sums = [line.split() for line in (folder / "sums").read_text().splitlines()]
        reported = {name: sha256 for sha256, name in sums}
        printed = hashlib.sha256((folder / "stdout").read_bytes()[:12_000_000]).hexdigest()
        assert {"all": printed} | {name: _sum(folder / name) for name in ("file.1", "file.2")} == reported
    finally:
        process.kill()
        process.wait()


def _size(campaign: Campaign, name: str) -> int:
    return sum(one.stat().st_size for one in campaign.out.glob(f"attempts/*/*/{name}"))


def _kill_api_server(pods: PodLab) -> None:
    """Kill the API server of the cluster, and start it again after a while, as a kubelet would."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            argv = (process / "cmdline").read_text().split("\0")[:-1]
            if "kube-apiserver" in argv[:2] and any(str(pods.folder) in word for word in argv):
                os.kill(int(process.name), signal.SIGKILL)
                break
    else:
        pytest.fail("the API server is not found")
    time.sleep(8)
    with (pods.folder / "api-server-again.log").open("ab") as log:
        pods.started.append(subprocess.Popen(pod_lab.inside(pods.folder, argv), stdout=log, stderr=log))
    until(lambda: pods.run(*_kubectl(), "get", "--raw", "/readyz").returncode == 0, _PATIENCE_S, every_s=0.3)


def _kubectl() -> tuple[str | Path, ...]:
    return build.programs().kubelab, "kubectl"


def test_inputs_are_in_each_pod_byte_for_byte(campaign: Campaign, tmp_path: Path) -> None:
    """They come by a ConfigMap, hidden ones and those that are no text too."""
    contents = {"it's mesh": b"\xff\0\r\n", "dos.txt": b"4 4\r\n"}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    script = f"cat in/mesh .dos.txt | sha256sum >sum.$(hostname); {_FIGURE}echo value: 1.0"
    inputs = {"in/mesh": "it's mesh", ".dos.txt": "dos.txt"}
    done = campaign.write(platform="openmpi", script=script, study={"inputs": inputs}).run()
    assert done.returncode == 0, done.stdout + done.stderr
    sums = [path.read_text().split()[0] for path in _home(campaign).glob("sum.*")]
    assert {*sums} == {hashlib.sha256(b"".join(contents.values())).hexdigest()}
