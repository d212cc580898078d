"""Studies through PSI/J on this machine: killed, resumed, and cleaned up after."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.batch.batch_systems import COUNTED, PSIJ, n_starts, start, states
from cli.conftest import Tare
from cli.killed_campaigns import ended_runs
from support.waiting import until
from tare.core.attempt import State
from tare.storage.campaign import JOURNAL
from tare.storage.journal import is_held

SITE = """\
site: queue
nodes: [localhost]
networks: {host: {interface: lo}}
platforms:
  here: {backend: psij, psij: {executor: local, poll_s: 0.5}}
"""


@pytest.fixture(autouse=True)
def site(tmp_path: Path) -> None:
    (tmp_path / "queue.yaml").write_text(SITE)


def local_study(folder: Path, script: str, repeats: int = 1) -> Path:
    """Write a study without ranks: this machine has one node."""
    return PSIJ.write_study(folder, script, platforms="here", repeats=repeats, is_mpi=False)


def running(script: str) -> list[int]:
    """Return the processes on this machine that run a script below this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if script.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_study_on_this_machine_is_killed_and_goes_on_with_its_processes(tare: Tare, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    runner = start(local_study(tmp_path, COUNTED, repeats=2), campaign)
    until(lambda: (campaign / "starts").exists())
    runner.kill()
    runner.wait()
    done = tare("run", campaign)
    assert done.returncode == 0, done.stdout + done.stderr
    assert states(campaign) == {State.DONE: 4}
    assert set(ended_runs(campaign).values()) == {1}
    assert n_starts(campaign) == 4, "a run was run twice"
    assert running(str(campaign)) == []


def test_clean_ends_what_a_dead_campaign_runs_on_this_machine(tare: Tare, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    runner = start(local_study(tmp_path, "sleep 300; echo value: 1"), campaign)
    until(lambda: bool(list(campaign.glob("attempts/*/*/job.begun"))))
    runner.kill()
    runner.wait()
    until(lambda: not is_held(campaign / JOURNAL))
    assert "cancelled PSI/J-local job" in tare("clean").stdout
    until(lambda: running(str(campaign)) == [], within_s=5)
    assert "PSI/J-local job" not in tare("clean").stdout


FAULTS = {
    "{executor: local, queue: short}": "psij.queue: PSI/J hands none on to PSI/J-local; leave it out",
    "{executor: pbs, account: two words}": "'two words': PSI/J writes only letters, digits",
    "{executor: pbs, queue: a, reservation: b}": "a reservation of PBS is a queue of its own",
    "{executor: pbs, attributes: {slurm.qos: x}}": "write it as 'pbs.NAME', an option of PBS",
    "{executor: lsf, attributes: {lsf.J: x}}": "Tare names its jobs itself; leave it out",
    "{executor: flux, exclusive: true}": "PSI/J does not ask Flux for it; leave it out",
    "{executor: local, login: n1}": "PSI/J calls no command of PSI/J-local",
}


def test_an_option_that_psij_does_not_hand_on_is_a_fault_of_the_site(tare_here: Tare, tmp_path: Path) -> None:
    study = local_study(tmp_path, "echo value: 1")
    wrong = "".join(f"  p{n}: {{backend: psij, psij: {text}}}\n" for n, text in enumerate(FAULTS))
    (tmp_path / "queue.yaml").write_text(f"{SITE}{wrong}  none: {{backend: psij}}\n")
    done = tare_here("plan", study)
    assert done.returncode == 2, done
    for message in (*FAULTS.values(), "name the batch system: 'psij: {executor: …}'"):
        assert message in done.stderr


def test_a_batch_system_that_psij_does_not_know_is_a_fault_of_the_site(
    tare_here: Tare, tmp_path: Path
) -> None:
    study = local_study(tmp_path, "echo value: 1")
    (tmp_path / "queue.yaml").write_text(SITE.replace("executor: local", "executor: torque"))
    done = tare_here("plan", study)
    assert done.returncode == 2, done
    assert "torque" in done.stderr
