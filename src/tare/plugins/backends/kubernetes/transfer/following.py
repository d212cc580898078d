"""Read the logs of pods, during and after the run, until all of their results are received.

Some threads follow the logs of running pods. If there are more pods than threads, each thread reads a log for
a short time and then takes the next. Other threads read the logs of pods that are over. A log that was cut,
by a proxy or by an outage of the API server, is read on from where it ended.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import NamedTuple

from tare.core import counting
from tare.core.errors import TareError
from tare.plugins.backends.kubernetes.api.cluster import Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.transfer import framing
from tare.plugins.backends.kubernetes.transfer.fetching import fetch
from tare.plugins.backends.kubernetes.transfer.receiving import Receiver

N_FOLLOWERS, N_READERS = 32, 8
_SLICE_S = 20.0  # read a pod's log for this long at once, if others wait
_QUIET_S, _QUIET_AMONG_OTHERS_S = 60.0, 5.0
_RETRIES_S = (0.5, 1.0, 2.0, 4.0)  # after a log that ended too early, or lacked something
_LATER_S, _LATEST_S = 1.0, 30.0
_OUTAGE_S = 600.0
_FORBIDDEN, _SERVER_FAULT = 403, 500
_STAMPED = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) ?")


class Outcome(NamedTuple):
    """The final state of the results of one pod.

    `output` is the part of the log that is not results. `fault` says why results are missing; it `is_curable`
    if the pod still holds them and waits for a permission. `problem` says why some files were left out on
    purpose.
    """

    output: bytes
    fault: str = ""
    is_curable: bool = False
    problem: str = ""
    error: BaseException | None = None


class ResultsReceived:
    """The results of one pod while they are received, and the position in its log.

    `since` is the time stamp of the last line read, and `n_since` the number of lines read with that stamp.
    A log without stamps is read from its beginning each time.
    """

    def __init__(self, pod: str, receiver: Receiver, *, is_shared: bool) -> None:
        self.pod = pod
        self.receiver = receiver
        self.is_shared = is_shared
        self.is_over = False
        self.expects_end = True
        self.outcome: Outcome | None = None
        self.since = ""
        self.n_since = 0
        self.n_tries = 0
        self.n_idle = 0
        self.failing_since: float | None = None
        self.is_taken = False
        self.is_reread = False

    def reread(self) -> None:
        """Read the log from its beginning once more: where a clock was set back, kubelets leave out lines."""
        self.is_reread = True
        self.since, self.n_since, self.n_tries = "", 0, 0

    @property
    def position(self) -> tuple[str, int, int]:
        """Return how far it has come; reading again without any news does not change it."""
        return self.since, self.n_since, self.receiver.n_received

    def finish(self, fault: str = "", *, is_curable: bool = False) -> None:
        """Record the outcome."""
        receiver = self.receiver
        self.outcome = Outcome(
            receiver.output + receiver.unfinished,
            fault,
            is_curable,
            receiver.problem(),
        )


_Queue = queue.PriorityQueue[tuple[float, int, ResultsReceived | None]]
"""Pods whose logs are to be read, ordered by the time from which they may be read."""


class Followers:
    """The threads that read logs. `on_news` is called, in one of them, when an outcome is there."""

    def __init__(self, cluster: Cluster, on_news: Callable[[], None]) -> None:
        self._cluster = cluster
        self._on_news = on_news
        self._ended = threading.Event()
        self._running: _Queue = queue.PriorityQueue()
        self._over: _Queue = queue.PriorityQueue()
        self._numbers = count()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def take(self, one: ResultsReceived) -> None:
        """Start to read the log of a pod until its results are received; do nothing if that is under way."""
        with self._lock:
            if one.is_taken or one.outcome is not None or self._ended.is_set():
                return
            one.is_taken = True
        self._enqueue(one)

    def end(self) -> None:
        """Tell the threads to stop. They end with their connections, which the cluster object closes."""
        self._ended.set()
        for which in (self._running, self._over):
            for _ in self._threads:
                which.put((0.0, next(self._numbers), None))

    def join(self, patience_s: float) -> None:
        """Wait for the threads to end, for `patience_s` seconds at most."""
        until = time.monotonic() + patience_s
        for one in self._threads:
            one.join(max(until - time.monotonic(), 0.0))

    def _enqueue(self, one: ResultsReceived, later_s: float = 0.0) -> None:
        which, most = (self._over, N_READERS) if one.is_over else (self._running, N_FOLLOWERS)
        which.put((time.monotonic() + later_s, next(self._numbers), one))
        name = "log reader" if one.is_over else "log follower"
        with self._lock:
            if sum(thread.name == name for thread in self._threads) < min(most, which.qsize() + 1):
                thread = threading.Thread(target=self._run, args=(which,), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _run(self, which: _Queue) -> None:
        while not self._ended.is_set():
            due, number, one = which.get()
            if one is None:
                return
            if due > time.monotonic():
                which.put((due, number, one))
                self._ended.wait(min(due - time.monotonic(), _LATER_S))
                continue
            later_s = 0.0
            try:
                later_s = self._advance(one)
            except Exception as error:  # it is raised again by the scheduler's thread
                one.outcome = Outcome(one.receiver.output, error=error)
            if one.outcome is not None:
                one.is_taken = False
                self._on_news()
                continue
            self._enqueue(one, later_s)

    def _advance(self, one: ResultsReceived) -> float:
        """Read on; return after how many seconds to read again.

        The result means nothing if there is an outcome.
        """
        was_over, before = one.is_over, one.position
        try:
            self._read(one, follows=not was_over)
        except Refusal as refusal:
            return self._refused(one, refusal, is_over=was_over)
        except Outage as outage:
            if one.receiver.end is None:
                return self._wait_out(one, outage, has_come=one.position != before)
        if one.receiver.end is not None:
            return self._settle(one)
        one.failing_since = None
        if not was_over:
            one.n_idle = 0 if one.position != before else one.n_idle + 1
            return min(_LATER_S * 2 ** min(one.n_idle, 9), _LATEST_S) if one.n_idle else 0.0
        if not one.expects_end:  # it was killed before it could report its end
            one.finish()
            return 0.0
        one.n_tries = 0 if one.position != before else one.n_tries + 1
        if one.n_tries > len(_RETRIES_S) and one.since and not one.is_reread:
            one.reread()
        elif one.n_tries > len(_RETRIES_S) and one.is_shared:
            one.finish()
        elif one.n_tries > len(_RETRIES_S):
            reason = f"its log, read {one.n_tries + 1} times, ends before its results do"
            one.finish(f"{reason}: it was cut, or rotated away")
            return 0.0
        return _RETRIES_S[max(one.n_tries - 1, 0)]

    def _refused(self, one: ResultsReceived, refusal: Refusal, *, is_over: bool) -> float:
        """Handle a refusal of the log: its container may not run yet, or its node may not answer."""
        is_forbidden = refusal.status == _FORBIDDEN
        if is_over:
            one.n_tries += 1
            if one.is_shared:
                one.finish()  # the shared claim has the results too
            elif refusal.status < _SERVER_FAULT or one.n_tries > len(_RETRIES_S):
                one.finish(f"its log could not be read: {refusal}", is_curable=is_forbidden)
        elif is_forbidden and one.is_shared:
            one.finish()
        elif is_forbidden:
            one.finish(f"its log could not be read: {refusal}", is_curable=True)
        return _RETRIES_S[min(one.n_tries, len(_RETRIES_S) - 1)]

    def _wait_out(self, one: ResultsReceived, outage: Outage, *, has_come: bool) -> float:
        """Handle an outage; it is final if it lasts while the API server answers other requests."""
        now = time.monotonic()
        one.failing_since = now if has_come or one.failing_since is None else one.failing_since
        has_end = one.receiver.end is not None
        if (one.is_over or has_end) and now - one.failing_since > _OUTAGE_S:
            one.finish(f"its {'results' if has_end else 'log'} could not be read: {outage}")
        return max(_LATER_S, outage.retry_after_s)

    def _read(self, one: ResultsReceived, *, follows: bool) -> None:
        """Read the lines of the log that are new, until the log or the results end."""
        quiet_s = _QUIET_S if self._running.empty() else _QUIET_AMONG_OTHERS_S
        until = time.monotonic() + _SLICE_S
        is_known = bool(one.since)  # the log begins with lines that were read before
        n_known = one.n_since
        if not is_known:
            one.receiver.output, one.n_since = b"", 0
        one.receiver.unfinished = b""
        role, since = one.receiver.role, one.since
        with self._cluster.log_stream(one.pod, role, since, follows=follows, quiet_s=quiet_s) as parts:
            for line in lines(parts):
                stamp, text = _split(line)
                if not line.endswith(b"\n"):  # the rest of it is still to come, or was cut off
                    one.receiver.unfinished = text
                    break
                if is_known and stamp <= one.since and (stamp < one.since or n_known > 0):
                    n_known -= stamp == one.since
                    continue
                is_known = False  # later stamps may be earlier: the clock of a node may be set back
                one.n_since = one.n_since + 1 if stamp == one.since else 1
                one.since = stamp or one.since
                one.receiver.take(text)
                if one.receiver.end is not None or self._ended.is_set():
                    return
                if follows and time.monotonic() > until and not self._running.empty():
                    return

    def _settle(self, one: ResultsReceived) -> float:
        """Check whether all files are received, and fetch the missing ones.

        Return after how many seconds to read the log again; the result means nothing if there is an outcome.
        """
        receiver, end, n_received = one.receiver, one.receiver.end, one.receiver.n_received
        try:
            lacks = receiver.lacks()
            if lacks and end is not None and end.waits and not one.is_over:
                fetch(self._cluster, one.pod, receiver, lambda: one.is_over or self._ended.is_set())
                lacks = receiver.lacks()
        except Refusal as refusal:
            one.finish(_refusal(one, refusal), is_curable=refusal.status == _FORBIDDEN)
            return 0.0
        except Outage as outage:
            return self._wait_out(one, outage, has_come=receiver.n_received > n_received)
        except ValueError as error:
            one.finish(f"its results cannot be received: {error}")
            return 0.0
        if not lacks and end is not None and end.is_lost:
            one.finish("what its ranks wrote could not all be copied into its launcher (launcher.log)")
            return 0.0
        if not lacks:
            receiver.keep_record()
            one.finish()
            return 0.0
        one.n_tries += 1
        if one.n_tries <= len(_RETRIES_S):
            if not one.is_shared:
                one.since, one.n_since, receiver.end = "", 0, None
            return _RETRIES_S[one.n_tries - 1]
        one.finish(_lacking(one))
        return 0.0


def _refusal(one: ResultsReceived, refusal: Refusal) -> str:
    if refusal.status != _FORBIDDEN:
        return f"what waits in pod {one.pod} could not be fetched: {refusal}"
    return (
        f"what waits in pod {one.pod} is more than its log can carry, and may not be fetched: {refusal}; "
        "allow 'get' and 'create' of pods/exec (deploy/kubernetes/role.yaml), or give a claim as 'work'"
    )


def _lacking(one: ResultsReceived) -> str:
    with suppress(ValueError, TareError):
        lacks = one.receiver.lacks()
        if not lacks:
            return ""
        first, more = (
            lacks[0],
            f" and {counting.count(len(lacks) - 1, 'more file')}" if len(lacks) > 1 else "",
        )
        part = f"{first.n_there} of {counting.count(first.whole.n_bytes, 'byte')} of {first.name}{more}"
        if one.is_shared:
            return f"the claim shows {part}: is the same claim mounted here and in the pods?"
        if one.receiver.end is not None and one.receiver.end.waits:
            return f"pod {one.pod} ended before its results were fetched: {part} are here"
        return f"its log lacks part of its results: {part} are here; it was cut, or rotated away"
    return "its results are damaged"


def lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a log that arrives in parts, with line ends; lines that are too long are dropped."""
    rest, is_too_long = b"", False
    for part in parts:
        *whole, rest = (rest + part).split(b"\n") if b"\n" in part else (rest + part,)
        for line in whole:
            if not is_too_long:
                yield line + b"\n"
            is_too_long = False
        if len(rest) > framing.MOST_LINE:
            rest, is_too_long = b"", True
    if rest and not is_too_long:
        yield rest


def _split(line: bytes) -> tuple[str, bytes]:
    """Return a line's time stamp, empty where there is none, and the rest of the line."""
    found = _STAMPED.match(line)
    return (found[1].decode(), line[found.end() :]) if found else ("", line)
