"""Daemons of the lab's real Slurm are restarted in the middle of jobs: nothing is lost, nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.batch.batch_systems import NEEDS_SLURM, SLURM, Administrator, end, n_starts, start, states
from cli.killed_campaigns import ended_runs
from support.waiting import until
from tare.core.attempt import State

pytestmark = list(NEEDS_SLURM)

SCRIPT = '[ "$SLURM_PROCID" = 0 ] || exit 0; echo started >> {work}/../../../starts; sleep 10; echo value: 1'


def restart_slurmd(controller: Administrator) -> None:
    """Restart the daemon of the first node as an administrator does."""
    conf = controller.call("sh", "-c", "echo $SLURM_CONF").strip()
    pid = f"$(cat {Path(conf).with_name('slurmd.n1.pid')})"
    controller.call("sh", "-c", f"d={pid}; kill $d; while kill -0 $d 2>/dev/null; do sleep 0.1; done")
    controller.call("sh", "-c", f"PATH=$PATH:/usr/sbin slurmd -N n1 -f {conf}")


@pytest.mark.slow
def test_a_slurmd_that_is_restarted_leaves_its_jobs_running(
    controller: Administrator,
    tmp_path: Path,
) -> None:
    campaign = tmp_path / "c"
    runner = start(SLURM.write_study(tmp_path, SCRIPT), campaign)
    until(lambda: (campaign / "starts").exists() and n_starts(campaign) == 2)
    restart_slurmd(controller)
    assert end(runner) == 0
    assert states(campaign) == {State.DONE: 2}
    assert n_starts(campaign) == 2


@pytest.mark.slow
@pytest.mark.parametrize("is_running", [True, False])
def test_a_controller_that_is_killed_and_restarted_loses_and_repeats_nothing(
    controller: Administrator,
    tmp_path: Path,
    is_running: bool,
) -> None:
    """One job waits for a node that is drained, beside one that runs; or two wait."""
    campaign = tmp_path / "c"
    away = ["n2"] if is_running else ["n1", "n2"]
    for node in away:
        controller.call("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    study = SLURM.write_study(tmp_path, SCRIPT)
    text = study.read_text().replace("\nnodes: 1", "").replace("  size: [1, 2]", "  nodes: [1, 2]")
    study.write_text(text)
    runner = start(study, campaign)
    until(lambda: len(controller.jobs()) >= 1 + is_running)
    if is_running:
        until(lambda: (campaign / "starts").exists())
    controller.call("sleep", "6")  # in the seconds after a submission Slurm itself has not saved it
    controller.restart()
    for node in away:  # what the controller had not saved by then, it has forgotten
        controller.call("sh", "-c", f"scontrol update nodename={node} state=resume || true")
    assert end(runner) == 0
    assert set(states(campaign)) == {State.DONE}
    assert set(ended_runs(campaign).values()) == {1}
    assert n_starts(campaign) == 2
