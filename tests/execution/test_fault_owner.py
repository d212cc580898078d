"""What of a failure the infrastructure did: its program is not blamed for that, and it is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tare.core.attempt import Attempt, State
from tare.core.errors import BackendError
from tare.execution.fault_owner import n_oom_kills, with_fault_owner
from tare.plugins.backends.process.backend import ProcessBackend

WHY = "was still running after 15 s and was ended (time-out)"
FAILED = Attempt(
    case="c", block=1, attempt=1, state=State.FAILED, reason=WHY, check="timeout", started_at=1.0
)


class DoubleHosts(ProcessBackend):
    """Stands for hosts whose interface is as `said`; None of one that does not answer."""

    def __init__(self, said: str | None) -> None:
        self._said = said

    def ask(self, hosts: Sequence[str | None], script: str) -> dict[str | None, str]:
        if self._said is None:
            raise BackendError("host n2 could not be reached: Connection timed out")
        return {host: self._said if host == "n2" else "0x1003 1\n" for host in hosts}


def looked_at(said: str | None, attempt: Attempt = FAILED, n_killed: int = 0) -> Attempt:
    return with_fault_owner(attempt, DoubleHosts(said), ["n1", "n2"], "fab0", n_killed)


@pytest.mark.parametrize("said", ["0x1002 \n", "0x1003 0\n"])  # set down; its cable pulled
@pytest.mark.parametrize("check", ["timeout", "exit code", "", "transport"])
def test_a_link_that_is_down_is_the_infrastructures_fault(said: str, check: str) -> None:
    found = looked_at(said, msgspec.structs.replace(FAILED, check=check))
    assert (found.state, found.is_infrastructure, found.is_settled) == (State.FAILED, True, False)
    assert found.reason == f"when the run had ended, fab0 was down on n2; {WHY}"


def test_a_host_that_does_not_answer_is_the_infrastructures_fault() -> None:
    found = looked_at(None)
    assert found.is_infrastructure
    assert found.reason.startswith("when the run had ended, host n2 could not be reached")


@pytest.mark.parametrize("said", ["0x1003 1\n", "", "nonsense", "0x1003 \n"])
def test_what_is_not_seen_to_be_broken_is_not_blamed(said: str) -> None:
    assert looked_at(said) == FAILED


def test_a_run_that_came_out_well_or_printed_wrong_figures_is_left_unchanged() -> None:
    for state, check in ((State.DONE, ""), (State.INVALID, "output"), (State.INVALID, "placement")):
        attempt = msgspec.structs.replace(FAILED, state=state, check=check)
        assert looked_at("0x1002 \n", attempt) == attempt


@pytest.mark.parametrize(
    ("held_s", "check", "is_blamed"),
    [(9.0, "timeout", True), (1.0, "timeout", False), (9.0, "exit code", False)],
)
def test_a_cpu_limit_that_held_a_run_back_until_its_time_out_is_the_infrastructures(
    held_s: float, check: str, is_blamed: bool
) -> None:
    attempt = msgspec.structs.replace(
        FAILED, check=check, elapsed_s=15.0, telemetry={"cpu_throttled": held_s}
    )
    found = looked_at("0x1003 1\n", attempt)
    assert found.is_infrastructure is is_blamed
    assert ("held threads back for 9 s; was still" in found.reason) is is_blamed


def test_memory_that_ran_out_is_reported_and_is_the_programs_still(tmp_path: Path) -> None:
    found = looked_at("0x1003 1\n", n_killed=2)
    assert not found.is_infrastructure
    assert found.reason.endswith(
        "; meanwhile the kernel ended 2 processes of this machine, since memory ran out"
    )
    (tmp_path / "vmstat").write_text("nr_free_pages 1\noom_kill 7\n")
    assert n_oom_kills(tmp_path / "vmstat") == 7
    assert n_oom_kills(tmp_path / "none") == 0
