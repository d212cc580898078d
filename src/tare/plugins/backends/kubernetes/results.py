"""The results of tasks: whether they are home, and if not, why, and whether their pods must stay."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from tare.plugins.backends.kubernetes.cluster import Cluster
from tare.plugins.backends.kubernetes.following import Followers, Outcome, ResultsReceived
from tare.plugins.backends.kubernetes.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.observed import SeenPod, Terminated
from tare.plugins.backends.kubernetes.phases import TaskPhase
from tare.plugins.backends.kubernetes.receiving import RECORD, Receiver

_FOLLOWED_AFTER_S = 5.0
"""A pod that runs longer is followed; the log of any other is read once, when it is over."""
_STEP = re.compile(r"^step \S+ ([0-9]{1,3}) ", re.MULTILINE)


class Results(msgspec.Struct, frozen=True):
    """What has come of a task: the words in each pod's log by its role, and why not all of it has.

    `is_curable` says that the pods still have the rest; `problem` that it was not to come home.
    """

    logs: dict[str, bytes]
    fault: str = ""
    is_curable: bool = False
    problem: str = ""


class ResultsReader:
    """Brings home what tasks made, while they run and when they are over; `on_news` as in Followers."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float], on_news: Callable[[], None]) -> None:
        self._followers = Followers(cluster, on_news)
        self._clock = clock

    def end(self, patience_s: float) -> None:
        """Stop reading; call it when the cluster's connections have been ended."""
        self._followers.end()
        self._followers.join(patience_s)

    def follow(self, in_flight_job: InFlightJob) -> None:
        """Read what the pod that runs the program writes meanwhile, once it has done so for a while."""
        starter = in_flight_job.starter
        if starter is None or in_flight_job.phase is not TaskPhase.RUNNING or starter.state.running is None:
            return
        if self._clock() - in_flight_job.since >= _FOLLOWED_AFTER_S:
            self._followers.take(_homecoming(in_flight_job, starter))

    def is_told(self, in_flight_job: InFlightJob) -> bool:
        """Return whether the pod that runs the program has told all, though it may not be over."""
        one = (
            in_flight_job.homecomings.get(in_flight_job.starter.metadata.name)
            if in_flight_job.starter
            else None
        )
        return one is not None and one.receiver.end is not None

    def of(self, in_flight_job: InFlightJob) -> Results | None:
        """Return what has come of a task whose program is over; None while more is to come.

        Raises OSError where it cannot be written here.
        """
        pods = [
            pod for pod in (in_flight_job.server, in_flight_job.starter) if pod is not None
        ]  # the client's counts
        outcomes: dict[str, Outcome] = {}
        for pod in pods:
            one = _homecoming(in_flight_job, pod)
            one.is_over = one.is_over or pod.is_over
            one.expects_end = pod.state.terminated is None or has_told(pod.state.terminated)
            if one.outcome is None:
                self._followers.take(one)
                return None
            if one.outcome.error is not None:
                raise one.outcome.error
            outcomes[pod.role] = one.outcome
            if pod is in_flight_job.starter:
                ended = pod.state.terminated
                keep_failure(
                    one.receiver.record or (ended.message if ended else ""), in_flight_job.task.folder
                )
        faults = [one for one in outcomes.values() if one.fault]
        return Results(
            logs={role: one.words for role, one in outcomes.items()},
            fault=faults[0].fault if faults else "",
            is_curable=any(one.is_curable for one in faults),
            problem=next((one.problem for one in outcomes.values() if one.problem), ""),
        )


def has_told(ended: Terminated) -> bool:
    """Return whether a container that is over had come to its script's end, and so must have told of it."""
    return ended.exit_code == 0 or ended.message.startswith("began ")


def keep_failure(record: str, folder: Path) -> None:
    """Keep the record that a pod told of in its log, or in its termination message, where it is not home.

    Only of a program that failed: of one that did well, its results are what counts, and they are not home.
    """
    if not record.startswith("began ") or (folder / RECORD).exists():
        return
    codes = _STEP.findall(record)
    if codes and int(codes[-1]) != 0:
        (folder / RECORD).write_text(record)


def _homecoming(in_flight_job: InFlightJob, pod: SeenPod) -> ResultsReceived:
    name = pod.metadata.name
    if name not in in_flight_job.homecomings:
        task, options = in_flight_job.task, in_flight_job.options
        streams = {file for step in task.steps for file in (step.stdout, step.stderr)}
        receiver = Receiver(task.folder, pod.role, streams, options.results_bytes)
        in_flight_job.homecomings[name] = ResultsReceived(name, receiver, is_shared=options.work is not None)
    return in_flight_job.homecomings[name]
