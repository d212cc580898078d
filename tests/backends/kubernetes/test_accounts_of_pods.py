"""Users whom no image knows, as OpenShift chooses them: with OpenSSH itself, in namespaces of this machine.

CRI-O is played by the line that its GeneratePasswd adds to /etc/passwd (cri-o, utils/utils.go): the id
as name, the group, $HOME, and /sbin/nologin. containerd adds none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from backends.kubernetes.local_pods import SCRIPTS, step, task_of
from backends.kubernetes.situations import BASE
from tare.plugins.backends.kubernetes.diagnosis import phases
from tare.plugins.backends.kubernetes.manifests.script import render
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import (
    ContainerState,
    ContainerStatus,
    PodStatus,
    SeenMeta,
    SeenPod,
    Terminated,
)
from tare.plugins.backends.kubernetes.scheduling.job_result import read_result

UID, GROUPS = 1000650000, 1000650000
CRI_O = "{uid}:x:{uid}:0:{uid} user:{home}:/sbin/nologin\n"
_ROOTS = "root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
_TOOLS = ("unshare", "setpriv", "ssh", "ssh-keygen", "ip")
_PODS = """\
set -e
ip link set lo up
mount --bind {root}/passwd /etc/passwd
become() {{
  env -i PATH="$PATH" HOME={root}/home TARE_NODE=w setpriv --reuid={uid} --regid=0 --groups={groups} \\
    --inh-caps=-all --bounding-set=-all --no-new-privs "$@"
}}
{start}
become sh {root}/scripts/prepare.sh /usr/sbin/sshd -De -f {root}/run/sshd_config -p 2222 2>{root}/sshd.log &
trap 'kill -9 -1' EXIT  # all in this namespace of processes
until (exec 3<>/dev/tcp/127.0.0.1/2222) 2>/dev/null; do sleep 0.1; done
set +e
become bash {root}/scripts/task.sh >{root}/log 2>{root}/stderr
echo $? >{root}/code
"""


class Pods(NamedTuple):
    """A launcher and a worker, of one user, on this machine; `root` holds what they have of their own."""

    root: Path

    def run(self, passwd: str, *, is_writable: bool = False, has_init: bool = False) -> str:
        """Run a task of one worker, with this /etc/passwd; return the reason why it failed."""
        task = task_of(self.root / "task", step("true"))
        script = render(task, BASE.options).replace(" reach ||", " exec 2>&1; reach ||")
        (self.root / "scripts/task.sh").write_text(self.located(script))
        (self.root / "hostfile").write_text("127.0.0.1 slots=1\n")
        path = self.root / "passwd"
        path.write_text(passwd.format(uid=UID, home=self.root / "home"))
        path.chmod(0o664 if is_writable else 0o644)
        written = self.root / "run/passwd"
        start = f"become sh {self.root}/scripts/account.sh {written}; mount --bind {written} /etc/passwd"
        text = _PODS.format(root=self.root, uid=UID, groups=GROUPS, start=start if has_init else "")
        words = [
            "unshare",
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "bash",
            "-c",
        ]
        subprocess.run([*words, text], check=False, timeout=60, capture_output=True)
        result = self.root / "work/landed"
        (task.folder / "landed").write_text(result.read_text() if result.exists() else "")
        ended = read_result(task, [], None)
        return ended.reason or (ended.exit.fault or "")

    def located(self, text: str) -> str:
        return text.replace("/tare/", f"{self.root}/").replace("/etc/mpi/hostfile", f"{self.root}/hostfile")


@pytest.fixture
def pods() -> Iterator[Pods]:
    if os.geteuid() != 0 or not Path("/usr/sbin/sshd").exists() or not all(map(shutil.which, _TOOLS)):
        pytest.skip("needs root, OpenSSH, unshare and setpriv")
    with tempfile.TemporaryDirectory(prefix="pods-") as folder:  # pytest's are for nobody else to see
        yield laid_out(Pods(Path(folder)))


def laid_out(found: Pods) -> Pods:
    """Lay out the scripts of Tare, and the keys of the MPI Operator as a Secret is mounted."""
    found.root.chmod(0o755)
    for name in ("run/ranks", "work", "scripts", "home/.ssh", "task"):
        (found.root / name).mkdir(parents=True)
    for script in SCRIPTS.iterdir():
        (found.root / "scripts" / script.name).write_text(found.located(script.read_text()))
    (found.root / "scripts/facts.sh").write_text("")
    key = found.root / "home/.ssh/id_rsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(key)], check=True)
    (key.parent / "authorized_keys").write_text(key.with_suffix(".pub").read_text())
    key.chmod(0o644)
    key.parent.chmod(0o1777)
    for name in ("run", "run/ranks", "work"):
        (found.root / name).chmod(0o777)
    return found


def was_reached(pods: Pods) -> bool:
    return (pods.root / "code").read_text() == "0\n"


def test_a_user_with_the_line_of_cri_o_fails_at_once_with_the_message_of_nologin(pods: Pods) -> None:
    said = pods.run(_ROOTS + CRI_O)
    assert said.startswith(
        "no ssh to 127.0.0.1: This account is currently not available.; add 'passwd: true'"
    )
    assert "chmod g=u /etc/passwd" in said


def test_a_user_without_a_line_fails_at_once_with_the_message_of_ssh(pods: Pods) -> None:
    assert pods.run(_ROOTS).startswith(
        f"no ssh to 127.0.0.1: No user exists for uid {UID}; add 'passwd: true'"
    )


def test_a_line_is_written_where_group_0_may_write_to_etc_passwd(pods: Pods) -> None:
    """CRI-O adds none then: it leaves that to the image (checkFilePermissions)."""
    pods.run(_ROOTS, is_writable=True)
    assert was_reached(pods), (pods.root / "log").read_text()
    assert f"tare:x:{UID}:0:Tare:{pods.root}/home:" in (pods.root / "passwd").read_text()
    assert _ROOTS in (pods.root / "passwd").read_text()


@pytest.mark.parametrize("line", [CRI_O, ""], ids=["cri-o", "containerd"])
def test_an_init_container_gives_it_an_account_where_nothing_of_the_image_may_be_written_to(
    pods: Pods, line: str
) -> None:
    pods.run(_ROOTS + line, has_init=True)
    assert was_reached(pods), (pods.root / "log").read_text()
    assert (pods.root / "passwd").read_text() == (_ROOTS + line).format(uid=UID, home=pods.root / "home")


def test_an_account_that_ssh_takes_is_left_as_it_is(pods: Pods) -> None:
    own = f"mpiuser:x:{UID}:0::{pods.root}/home:/bin/bash\n"
    pods.run(_ROOTS + own, is_writable=True)
    assert was_reached(pods), (pods.root / "log").read_text()
    assert (pods.root / "passwd").read_text() == _ROOTS + own


def test_roots_account_is_never_touched(pods: Pods) -> None:
    passwd = pods.root / "passwd"
    passwd.write_text("root:x:0:0:root:/root:/sbin/nologin\n")
    text = (pods.root / "scripts/account.sh").read_text().replace("/etc/passwd", str(passwd))
    subprocess.run(["sh", "-c", text], check=True, env={"PATH": os.environ["PATH"], "HOME": "/elsewhere"})
    assert passwd.read_text() == "root:x:0:0:root:/root:/sbin/nologin\n"


def seen(init: str) -> SeenPod:
    """Return a worker whose init container is in this state, as a kubelet 1.34 tells it."""
    main = '{"ready": false, "state": {"waiting": {"reason": "PodInitializing"}}}'
    status = f'{{"initContainerStatuses": [{{"state": {init}}}], "containerStatuses": [{main}]}}'
    return msgspec.json.decode(f'{{"metadata": {{"name": "w"}}, "status": {status}}}', type=SeenPod)


def test_why_an_init_container_does_not_start_is_why_its_pod_does_not() -> None:
    pod = seen('{"waiting": {"reason": "ImagePullBackOff", "message": "no such host"}}')
    assert phases.is_pull(pod)
    assert "ImagePullBackOff: no such host" in phases.why_pending([pod], [])


def test_a_pod_whose_init_container_runs_does_not_run_yet() -> None:
    pod = seen('{"running": {"startedAt": "2026-01-01T00:00:00Z"}}')
    assert pod.state.running is None
    assert not pod.is_over


def test_a_pod_that_was_deleted_while_it_ran_is_reported() -> None:
    pod = seen('{"terminated": {"exitCode": 2, "reason": "Error"}}')
    meta = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    gone = msgspec.structs.replace(pod, metadata=meta)
    assert phases.ended_badly(gone) == "pod w was deleted, and ended with exit code 2 (Error)"


def test_a_pod_whose_init_container_failed_is_over() -> None:
    pod = seen('{"terminated": {"exitCode": 2, "reason": "Error"}}')
    assert not pod.is_over, "a kubelet may start it again, until it says that the pod has failed"
    pod = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase="Failed"))
    assert pod.is_over
    assert phases.ended_badly(pod) == "pod w ended with exit code 2 (Error)"
    assert not seen('{"terminated": {"exitCode": 0}}').is_over


def ended(role: str, message: str) -> SeenPod:
    """Return a pod of that role that failed, and printed `message` last."""
    state = ContainerState(terminated=Terminated(exit_code=255, reason="Error", message=message))
    return SeenPod(
        metadata=SeenMeta(name="w", labels={naming.ROLE: role}),
        status=PodStatus(container_statuses=[ContainerStatus(state=state)]),
    )


def test_a_worker_whose_sshd_does_not_start_reports_its_last_line() -> None:
    pod = ended("worker", "1\r\nMissing privilege separation directory: /run/sshd\r\n")
    said = "pod w ended with exit code 255 (Error): Missing privilege separation directory: /run/sshd"
    assert phases.ended_badly(pod) == said


@pytest.mark.parametrize("role", ["launcher", "server", "client"])
def test_pods_that_leave_their_record_there_report_no_last_line(role: str) -> None:
    assert phases.ended_badly(ended(role, "began 1 2")) == "pod w ended with exit code 255 (Error)"


def test_the_last_line_is_short_and_has_no_control_characters() -> None:
    said = phases.ended_badly(ended("worker", "\x1b[31m" + "x" * 5000))
    assert "\x1b" not in said
    assert len(said) < 300
