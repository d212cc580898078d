"""A thousand MPIJobs: what they cost the API server, and Tare's memory."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from kubernetes_cluster.conftest import Campaign, until_clean

N_JOBS, IN_FLIGHT = 1000, 250
_ENDED = b'"ended"'  # an attempt, in the journal


def resident_kib(pid: int) -> int:
    """Return the memory that a process holds (proc(5), VmRSS); 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def peaks_kib(runner: subprocess.Popen[bytes], journal: Path) -> tuple[int, int]:
    """Return the most memory that a campaign held in its first half, and in its second."""
    first = second = 0
    while runner.poll() is None:
        now = resident_kib(runner.pid)
        if journal.exists() and journal.read_bytes().count(_ENDED) > N_JOBS / 2:
            second = max(second, now)
        else:
            first = max(first, now)
        time.sleep(1)
    return first, second


@pytest.fixture(scope="session", autouse=True)  # before the cluster
def _there_is_time(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--real-pods"):
        pytest.skip("a thousand jobs take minutes; 'make test-kubernetes' runs them")


@pytest.mark.slow
def test_a_thousand_jobs_cost_few_requests_and_no_more_memory_than_five_hundred(campaign: Campaign) -> None:
    """The requests of each job create it, read its log and delete it: all the rest are for many at a time."""
    with campaign.write(repeats=N_JOBS, in_flight=IN_FLIGHT).start() as runner:
        first, second = peaks_kib(runner, campaign.out / "journal.jsonl")
    assert runner.returncode == 0, (campaign.folder / "run.log").read_text()[-2000:]
    assert campaign.counts() == {"done": N_JOBS}
    assert campaign.n_created() == N_JOBS
    requests = campaign.lab.requests(campaign.namespace)
    watches = [one for one in requests if one.verb == "watch"]
    assert len(requests) - len(watches) < 4 * N_JOBS
    assert len({one.resource for one in watches}) == 5
    assert 0 < second < 1.1 * first
    until_clean(campaign)
