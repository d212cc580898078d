"""How long a job that tries a platform waits in a queue."""

from __future__ import annotations

from tare.app.patience import Patience, Wait
from tare.core.attempt import Attempt, State
from tare.plugins.backends.slurm.options import SlurmOptions

ATTEMPT = Attempt(case="c", block=1, attempt=1, state=State.RUNNING, started_at=0.0)


class Clock:
    """A clock that tests set."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_job_that_waits_is_given_up_when_its_time_is_over_and_one_that_runs_is_not() -> None:
    clock, said = Clock(), list[str]()
    wait = Wait("srun", Patience(300, said.append, clock))
    clock.now_s = 100
    wait.begin()
    clock.now_s = 399
    wait.hear(ATTEMPT, "queued by Slurm: Priority")
    assert not wait.is_too_long
    clock.now_s = 400
    assert wait.is_too_long
    wait.hear(ATTEMPT, "")
    assert not wait.is_too_long, "it has started"
    assert said == ["waits    srun: queued by Slurm: Priority; given up after 300 s (--wait)"]


def test_without_a_limit_a_job_waits_for_ever_and_its_user_is_told_how_to_end_it() -> None:
    clock, said = Clock(), list[str]()
    wait = Wait("srun", Patience(None, said.append, clock))
    wait.hear(ATTEMPT, "queued by Slurm: Resources")
    clock.now_s = 1e9
    assert not wait.is_too_long
    assert said == ["waits    srun: queued by Slurm: Resources; Ctrl-C cancels its job"]


def test_what_asks_for_the_same_nodes_is_given_up_with_it() -> None:
    patience = Patience(300)
    patience.give_up(SlurmOptions(partition="lab"))
    assert patience.has_given_up(SlurmOptions(partition="lab", mpi="pmix"))
    assert not patience.has_given_up(SlurmOptions(partition="urgent"))
