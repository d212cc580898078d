"""What is kept of a task's pods, whatever they print or the API server says: only in the task's folder."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.objects.observed import SeenPod
from tare.plugins.backends.kubernetes.scheduling.evidence import keep, keep_manifests, last_logs

STATES = {
    "waits": {"waiting": {"reason": "ImagePullBackOff"}},
    "runs": {"running": {}},
    "ended": {"terminated": {"exitCode": 1}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of an attempt in a campaign."""
    folder = tmp_path / "c/attempts/case/1.1"
    folder.mkdir(parents=True)
    return folder


def pod(name: str, state: str, node: str = "n1") -> SeenPod:
    status = {"containerStatuses": [{"name": "main", "state": STATES[state]}]}
    document = {"metadata": {"name": name}, "spec": {"nodeName": node}, "status": status}
    return msgspec.json.decode(json.dumps(document), type=SeenPod)


def read_log(name: str, container: str) -> bytes:
    if name == "gone":
        raise BackendError("the pod is no longer there")
    return f"log of {name}\n".encode()


def test_a_pod_that_has_printed_nothing_or_is_on_a_lost_node_is_not_asked_for_its_log() -> None:
    pods = {
        "waits": pod("waits", "waits"),
        "runs": pod("runs", "runs"),
        "ended": pod("ended", "ended"),
        "gone": pod("gone", "ended"),
        "lost": pod("lost", "runs", "n2"),
    }
    assert last_logs(pods, {"n2"}, read_log) == {
        "runs": b"log of runs\n",
        "ended": b"log of ended\n",
        "gone": b"(not read: the pod is no longer there)\n",
        "lost": b"(not read: node n2 was lost)\n",
    }


@pytest.mark.parametrize(
    "text", ["a\udc80b", "\x1b[31mred", "a: b\n- c", "NaN", "é", "&a *a !!python/name:x"]
)
def test_any_text_of_the_api_server_is_kept_and_read_again_as_text(folder: Path, text: str) -> None:
    """An API server may pass on what a node's kubelet or an admission webhook says, in any characters."""
    written = text.encode(errors="replace").decode()
    raw = [msgspec.Raw(json.dumps({"status": {"message": written}}).encode())]
    keep_manifests(folder, [{"kind": "Job", "note": text}])
    keep(folder, {"launcher": b"\xff\x00"}, raw, [text], [pod("w", "runs")])
    assert yaml.safe_load((folder / "manifests.yaml").read_text())["note"] == text
    assert yaml.safe_load((folder / "pods.yaml").read_text()) == {"status": {"message": written}}
    assert (folder / "events.txt").read_text() == f"{written}\n"
    assert (folder / "nodes.txt").read_text() == "w n1\n"
    assert (folder / "launcher.log").read_bytes() == b"\xff\x00"


def test_a_link_that_a_run_left_in_its_folder_is_replaced_and_not_followed(folder: Path) -> None:
    mine = folder.parents[3] / "mine"
    mine.write_text("mine")
    names = ("manifests.yaml", "pods.yaml", "events.txt", "nodes.txt", "launcher.log")
    for name in names:
        (folder / name).symlink_to(mine)
    keep_manifests(folder, [{"kind": "Job"}])
    keep(folder, {"launcher": b"log"}, [], ["event"], [])
    assert mine.read_text() == "mine"
    assert not [name for name in names if (folder / name).is_symlink()]
