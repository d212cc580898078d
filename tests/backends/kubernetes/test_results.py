"""Whether all results are received: over logs that are cut or rotated, outages and restarts, of any size."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from backends.kubernetes.conftest import Clock, Happenings, begin, over, record, wait_for, wait_until
from backends.kubernetes.sent_results import listed, packed, piece, sent_lines, tarred
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import Situation
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.options import WorkVolume
from tare.plugins.backends.kubernetes.scheduling.leftovers import leftovers
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
LARGE = os.urandom(3_000_000) + bytes(3_000_000)


def waiting(api: SimulatedApiServer, large: dict[str, bytes]) -> bytes:
    """Return the log of a pod that carries the record, while `large` files wait in it to be fetched."""
    small = {name: text.encode() for name, text in record().items()}
    api.files |= {f"/tare/work/{name}": data for name, data in large.items()}
    return b"words\n" + sent_lines(listed(small | large), tarred(small), waits="yes")


def outlast(scheduler: KubernetesScheduler, clock: Clock) -> None:
    """Let the program run for long enough to be followed."""
    scheduler.wait()
    clock.ahead += 6


def test_files_that_wait_in_the_pod_are_fetched_and_it_is_deleted_then(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    files = {f"out/field.{number}": LARGE[number : 500_000 + number] for number in range(24)}
    api.logs[launcher] = waiting(api, files)
    outlast(scheduler, clock)
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.problems) == (0, ())
    assert {name: (one.folder / name).read_bytes() for name in files} == files
    scheduler.close()
    assert api.objects == {}


def test_a_connection_that_is_lost_while_fetching_goes_on_where_it_was(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    api.exec_cuts = [1_000_000, 900_000, 0, 500_000]
    api.logs[launcher] = waiting(api, {"large": LARGE})
    outlast(scheduler, clock)
    assert wait_for(scheduler)[0].exit.code == 0
    assert (one.folder / "large").read_bytes() == LARGE
    assert api.exec_cuts == []


def test_without_the_right_to_exec_the_pod_stays_and_the_next_session_fetches(
    make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings, api: SimulatedApiServer,
    task: Make, clock: Clock, situation: Situation,
) -> None:  # fmt: skip
    one, dead = task(), make_scheduler()
    launcher = begin(dead, happen, one)
    api.refusals["GET .*/exec"] = (403, "pods is forbidden")
    api.logs[launcher] = waiting(api, {"large": LARGE})
    outlast(dead, clock)
    with pytest.raises(BackendError, match="allow 'get' and 'create' of pods/exec"):
        wait_for(dead)
    dead.cancel([one.name])
    [left] = leftovers(Cluster.connect(situation.options))
    assert launcher in left.kept
    dead.close()
    assert launcher in api.names("pods")
    assert not (one.folder / "landed").exists()

    api.refusals.clear()
    alive = make_scheduler()
    assert list(alive.adopt([one])) == [one.name]
    clock.ahead += 6
    assert wait_for(alive)[0].exit.code == 0
    assert (one.folder / "large").read_bytes() == LARGE
    alive.close()
    assert api.names("pods") == []


def test_a_log_that_a_proxy_cuts_is_read_on_from_its_end(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    noise = os.urandom(100_000).hex()
    api.logs[launcher] = packed(record() | {"noise": noise})
    api.log_cuts[launcher] = [30_000, 50_000, 10, 90_000]
    happen.launcher(**over(0))
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.exit.fault) == (0, None)
    assert (one.folder / "noise").read_text() == noise


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["end", "begin"])
def test_what_no_log_holds_any_more_is_no_fault_of_the_program_and_the_pod_stays(
    make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings, api: SimulatedApiServer,
    task: Make, lost: str,
) -> None:  # fmt: skip
    one, scheduler = task(), make_scheduler()
    launcher = begin(scheduler, happen, one)
    log = packed(record())
    api.logs[launcher] = log[:-60] if lost == "end" else log
    api.log_begins[launcher] = 0 if lost == "end" else 2
    happen.launcher(**over(0, message=record()["landed"]))
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "was cut, or rotated away" in result.exit.fault
    scheduler.close()
    assert launcher in api.names("pods")
    later = make_scheduler()
    assert later.adopt([]) == []
    assert launcher in api.names("pods"), "it holds the only copy"


def test_output_is_there_while_its_program_runs(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    api.logs[launcher] = piece("stdout", 0, b"step 1\n")
    outlast(scheduler, clock)
    wait_until(scheduler, lambda: (one.folder / "stdout").exists())
    api.logs[launcher] += piece("stdout", 7, b"step 2\n")
    wait_until(scheduler, lambda: (one.folder / "stdout").read_bytes() == b"step 1\nstep 2\n")
    api.outage(is_down=True)
    scheduler.wait()
    api.logs[launcher] += piece("stdout", 14, b"step 3\n")
    api.outage(is_down=False)
    wait_until(scheduler, lambda: (one.folder / "stdout").read_bytes().endswith(b"step 3\n"))
    small = {name: text.encode() for name, text in record().items() if name != "stdout"}
    every = small | {"stdout": b"step 1\nstep 2\nstep 3\n"}
    api.logs[launcher] += sent_lines(listed(every), tarred(small))
    happen.launcher(**over(0))
    assert wait_for(scheduler)[0].exit.code == 0


def test_a_gap_in_what_was_streamed_is_fetched(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    small = {name: text.encode() for name, text in record().items() if name != "stdout"}
    api.files["/tare/work/stdout"] = LARGE
    streamed = piece("stdout", 0, LARGE[:1000]) + piece("stdout", 500_000, LARGE[500_000:600_000])
    api.logs[launcher] = streamed + sent_lines(listed(small | {"stdout": LARGE}), tarred(small), waits="yes")
    outlast(scheduler, clock)
    assert wait_for(scheduler)[0].exit.code == 0
    assert (one.folder / "stdout").read_bytes() == LARGE


def test_more_than_is_allowed_is_invalid_and_reported(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make,
    clock: Clock, situation: Situation,
) -> None:  # fmt: skip
    options = msgspec.structs.replace(situation.options, results_bytes=4_000_000)
    one = task(of=situation._replace(options=options))
    launcher = begin(scheduler, happen, one)
    api.logs[launcher] = waiting(api, {"large": LARGE, "other": LARGE[:1_000_000]})
    outlast(scheduler, clock)
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0
    assert "large (" in result.problems[0]
    assert "raise it, or give a claim as 'work'" in result.problems[0]
    assert not (one.folder / "large").exists()
    assert (one.folder / "other").read_bytes() == LARGE[:1_000_000]


def test_a_claim_that_shows_less_than_the_pod_wrote_is_received(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make,
    situation: Situation, tmp_path: Path,
) -> None:  # fmt: skip
    work = WorkVolume(claim="campaigns", path=str(tmp_path))
    one = task(of=situation.with_options(work=work))
    launcher = begin(scheduler, happen, one)
    (one.folder / "landed").write_text(record()["landed"])
    (one.folder / "stdout").write_text("half")
    api.logs[launcher] = sent_lines(listed({"stdout": b"halfway"}, has_sums=False), b"")
    happen.launcher(**over(0))
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "the claim shows 4 of 7 bytes of stdout" in result.exit.fault
    assert (one.folder / "stdout").read_text() == "half"


@pytest.mark.parametrize("code", [0, 3])
def test_what_a_launcher_could_not_get_from_its_worker_is_the_infrastructures_fault(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, code: int
) -> None:
    """Unless the program had failed: what is missing may be missing for that."""
    one = task()
    launcher = begin(scheduler, happen, one)
    small = {name: text.encode() for name, text in record(code).items()}
    api.logs[launcher] = sent_lines(listed(small), tarred(small), waits="lost")
    happen.launcher(**over(code))
    (result,) = wait_for(scheduler)
    assert result.exit.code == (None if code == 0 else 3)
    assert (result.exit.fault is not None) == (code == 0)
    assert "could not all be copied" in (result.exit.fault or "could not all be copied")


@pytest.mark.parametrize("there", [b"step 1\n", b"step 1\nste", b"\0\0\0\0\0\0\0\0\0"])
def test_what_a_killed_session_left_of_a_stream_is_gone_on_with_unless_it_is_damaged(
    make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings, api: SimulatedApiServer,
    task: Make, there: bytes,
) -> None:  # fmt: skip
    one, dead = task(), make_scheduler()
    launcher = begin(dead, happen, one)
    dead.abandon_watches()
    (one.folder / "stdout").write_bytes(there)
    small = {name: text.encode() for name, text in record().items() if name != "stdout"}
    every = small | {"stdout": b"step 1\nstep 2\n"}
    streamed = piece("stdout", 0, b"step 1\n") + piece("stdout", 7, b"step 2\n")
    api.logs[launcher] = streamed + sent_lines(listed(every), tarred(small))
    happen.launcher(**over(0))
    alive = make_scheduler()
    assert list(alive.adopt([one])) == [one.name]
    assert wait_for(alive)[0].exit.code == 0
    assert (one.folder / "stdout").read_bytes() == b"step 1\nstep 2\n"


def test_a_right_that_an_api_server_has_not_loaded_yet_is_asked_for_again(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """It has just started: for a minute, its 403 may pass."""
    one = task()
    launcher = begin(scheduler, happen, one)
    scheduler._cluster.connection._away_at = time.monotonic()
    api.refusals["GET .*/exec"] = (403, "pods is forbidden")
    api.logs[launcher] = waiting(api, {"large": LARGE})
    outlast(scheduler, clock)
    wait_until(scheduler, lambda: any(one.endswith("/exec") for one in api.requests))
    api.refusals.clear()
    assert wait_for(scheduler)[0].exit.code == 0
    assert (one.folder / "large").read_bytes() == LARGE


def test_without_the_right_to_logs_the_pod_stays_and_the_next_session_reads(
    make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    """Another attempt would end in the same way, and leave one pod more."""
    one, dead = task(), make_scheduler()
    launcher = begin(dead, happen, one)
    api.refusals["GET .*/log"] = (403, 'pods "a" is forbidden: User "u" cannot get resource "pods/log"')
    api.logs[launcher] = packed(record())
    happen.launcher(**over(0))
    with pytest.raises(BackendError, match="ask for a Role with that right; then run the same command again"):
        wait_for(dead)
    dead.close()
    assert launcher in api.names("pods")

    api.refusals.clear()
    alive = make_scheduler()
    assert list(alive.adopt([one])) == [one.name]
    assert wait_for(alive)[0].exit.code == 0
    alive.close()
    assert api.names("pods") == []
