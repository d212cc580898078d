"""Receive the results of tasks; report why some are missing, and whether their pods must stay."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from tare.core.safe_folder import SafeFolder
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.diagnosis.phases import TaskPhase
from tare.plugins.backends.kubernetes.objects.observed import SeenPod, Terminated
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.transfer.following import Followers, Outcome, ResultsReceived
from tare.plugins.backends.kubernetes.transfer.receiving import RECORD, Receiver

_FOLLOWED_AFTER_S = 5.0
"""A pod that runs longer is followed; the log of any other pod is read once, after its end."""
_STEP = re.compile(r"^step \S+ ([0-9]{1,3}) ", re.MULTILINE)


class Results(msgspec.Struct, frozen=True):
    """The received results of a task: each pod's log text by its role, and why results are missing.

    `is_curable` says that the pods still have the missing ones; `problem` says that some were left out on
    purpose.
    """

    logs: dict[str, bytes]
    fault: str = ""
    is_curable: bool = False
    problem: str = ""


class ResultsReader:
    """Receives the results of tasks, during and after the run; `on_news` is called as in Followers."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float], on_news: Callable[[], None]) -> None:
        self._followers = Followers(cluster, on_news)
        self._clock = clock

    def end(self, patience_s: float) -> None:
        """Stop reading; call it after the cluster's connections were closed."""
        self._followers.end()
        self._followers.join(patience_s)

    def follow(self, job: InFlightJob) -> None:
        """Start to read the log of the pod that runs the program, once it has run for some seconds."""
        starter = job.starter
        if starter is None or job.phase is not TaskPhase.RUNNING or starter.state.running is None:
            return
        if self._clock() - job.since >= _FOLLOWED_AFTER_S:
            self._followers.take(_received(job, starter))

    def is_received(self, job: InFlightJob) -> bool:
        """Return whether the pod that runs the program has sent its whole result; it may still be running."""
        one = job.received.get(job.starter.metadata.name) if job.starter else None
        return one is not None and one.receiver.end is not None

    def of(self, job: InFlightJob) -> Results | None:
        """Return the results of a task whose program is over; None while more is to come.

        Raises OSError where they cannot be written here.
        """
        pods = [pod for pod in (job.server, job.starter) if pod is not None]  # the client's counts
        outcomes: dict[str, Outcome] = {}
        for pod in pods:
            one = _received(job, pod)
            one.is_over = one.is_over or pod.is_over
            one.expects_end = pod.state.terminated is None or has_sent_results(pod.state.terminated)
            if one.outcome is None:
                self._followers.take(one)
                return None
            if one.outcome.error is not None:
                raise one.outcome.error
            outcomes[pod.role] = one.outcome
            if pod is job.starter:
                ended = pod.state.terminated
                keep_failure(one.receiver.record or (ended.message if ended else ""), job.task.folder)
        faults = [one for one in outcomes.values() if one.fault]
        return Results(
            logs={role: one.output for role, one in outcomes.items()},
            fault=faults[0].fault if faults else "",
            is_curable=any(one.is_curable for one in faults),
            problem=next((one.problem for one in outcomes.values() if one.problem), ""),
        )


def has_sent_results(ended: Terminated) -> bool:
    """Return whether a container that ended reached the end of its script, and so has sent its results."""
    return ended.exit_code == 0 or ended.message.startswith("began ")


def keep_failure(record: str, folder: Path) -> None:
    """Write the record from a pod's log or termination message, if the task's folder has none.

    This is done only for a program that failed. A successful one is judged by its results, and they are
    missing.
    """
    file = SafeFolder(folder, RECORD)
    if not record.startswith("began ") or file.exists():
        return
    codes = _STEP.findall(record)
    if codes and int(codes[-1]) != 0:
        file.replace(record.encode(), is_synced=False)


def _received(job: InFlightJob, pod: SeenPod) -> ResultsReceived:
    name = pod.metadata.name
    if name not in job.received:
        task, options = job.task, job.options
        streams = {file for step in task.steps for file in (step.stdout, step.stderr)}
        receiver = Receiver(task.folder, pod.role, streams, options.results_bytes)
        job.received[name] = ResultsReceived(name, receiver, is_shared=options.work is not None)
    return job.received[name]
