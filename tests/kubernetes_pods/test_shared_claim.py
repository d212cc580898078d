"""A campaign on a claim that pods and Tare share: what is written is there, whatever its size, by no log."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kubelab.shared_claim import CLAIM, FOLDER
from kubernetes_pods.conftest import Campaign, PodLab

_N_MIB = 48
_WRITE = f"""\
rank=$OMPI_COMM_WORLD_RANK
head -c {_N_MIB}M /dev/urandom >large.$rank
sha256sum large.$rank >sum.$rank
[ "$rank" != 0 ] || echo value: 1.0
"""


def test_what_ranks_on_both_nodes_write_to_a_shared_claim_is_received_whatever_its_size(
    pods: PodLab, tmp_path: Path
) -> None:
    shared = pods.folder / FOLDER
    campaign = Campaign(pods, tmp_path)
    campaign.out = shared / "c"
    options = {"work": {"claim": CLAIM, "path": str(shared)}, "user": 0, "ssh_port": 22}
    done = campaign.write(platform="openmpi", script=_WRITE, options=options).run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(one["state"], one.get("reason", "")) for one in campaign.attempts()] == [("done", "")]
    [folder] = campaign.out.glob("attempts/*/1.1")
    for rank in "01":
        wanted, _ = (folder / f"sum.{rank}").read_text().split()
        data = (folder / f"large.{rank}").read_bytes()
        assert len(data) == _N_MIB * 1024 * 1024
        assert hashlib.sha256(data).hexdigest() == wanted
    logs = [path.read_bytes() for path in folder.glob("*.log")]
    assert sum(map(len, logs)) < 1024 * 1024, "its files went through a log, too"
