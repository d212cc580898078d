"""Watch one kind of object: list all first, then receive changes; start again after outages."""

from __future__ import annotations

import queue
import threading
import time
from typing import NamedTuple

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes.api.cluster import Cluster, Gone, Outage, Refusal, Resource
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta

_FIRST_RETRY_S, _LAST_RETRY_S = 0.2, 15.0


class Change(NamedTuple):
    """An object was added, modified or deleted."""

    resource: Resource
    is_deleted: bool
    content: msgspec.Raw


class Snapshot(NamedTuple):
    """All objects at one time; others that were known are gone."""

    resource: Resource
    items: list[msgspec.Raw]


class Interruption(NamedTuple):
    """A watch was interrupted; with `is_final` the API server will never serve it."""

    resource: Resource
    error: BackendError
    is_final: bool


class Arrival(NamedTuple):
    """The results of a task are received, or never will be."""


News = Change | Snapshot | Interruption | Arrival


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Versioned(msgspec.Struct, frozen=True):
    metadata: SeenMeta = SeenMeta()


class ObjectWatch(threading.Thread):
    """A thread that puts changes of the objects of one kind that match `selector` into `news`."""

    def __init__(self, cluster: Cluster, resource: Resource, selector: str, news: queue.Queue[News]) -> None:
        super().__init__(name=f"watch {resource.plural}", daemon=True)
        self._cluster = cluster
        self._resource = resource
        self._selector = selector
        self._news = news
        self._ended = threading.Event()
        self._version: str | None = None
        self._has_changes = False
        self._was_allowed = False

    def end(self) -> None:
        """Stop; the thread ends when its connection is closed."""
        self._ended.set()

    def run(self) -> None:
        """Watch until `end`; where watches end soon, or fail, begin them again with growing delays."""
        retry_s = _FIRST_RETRY_S
        while not self._ended.is_set():
            began, self._has_changes, least_s = time.monotonic(), False, 0.0
            try:
                self._look()
            except Gone:
                self._version = None
            except Refusal as refusal:
                self._news.put(Interruption(self._resource, self._explained(refusal), is_final=True))
                return
            except Outage as outage:
                self._news.put(Interruption(self._resource, outage, is_final=False))
                least_s = outage.retry_after_s
                self._version = None  # the next list shows that the server answers again
            except RuntimeError:  # the client was closed, which is how a watch is ended
                return
            if self._has_changes or time.monotonic() - began > _LAST_RETRY_S:
                retry_s = _FIRST_RETRY_S
            self._ended.wait(max(retry_s, least_s))
            retry_s = min(2 * retry_s, _LAST_RETRY_S)

    def _explained(self, refusal: Refusal) -> Refusal:
        """Return a refusal; of what was allowed before, with a possible cause."""
        if not self._was_allowed:
            return refusal
        space = self._cluster.namespace
        why = f"it was allowed until now: was namespace {space}, or a RoleBinding in it, deleted?"
        return Refusal(refusal.status, f"{refusal}; {why}")

    def _look(self) -> None:
        """List the objects if no version is known; then watch from it until the server ends the watch."""
        if self._version is None:
            items, self._version = self._cluster.list_all(self._resource, self._selector)
            self._was_allowed = True
            self._news.put(Snapshot(self._resource, items))
        for line in self._cluster.watch(self._resource, self._selector, self._version):
            if self._ended.is_set():
                return
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            event = decode_json(line, type=_Event)
            seen = decode_json(event.object, type=_Versioned)
        except NOT_JSON as error:  # a line that was cut with its connection
            raise Outage(f"the API server sent half a line: {error}") from error
        if event.type == "ERROR":
            raise Gone
        self._version = seen.metadata.resource_version or self._version
        self._has_changes = True
        if event.type != "BOOKMARK":
            content = msgspec.Raw(bytes(event.object))
            self._news.put(Change(self._resource, event.type == "DELETED", content))
