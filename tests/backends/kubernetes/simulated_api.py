"""A double of an API server: objects over HTTP, watches, and logs; what pods do is for the test to say.

It stands at the outermost seam, a socket, so that the same client and the same tests can talk to a real one.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection

Doc = dict[str, Any]
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455
_PATH = re.compile(r"/(?P<group>api/v1|apis/[^/]+/[^/]+)(/namespaces/(?P<ns>[^/]+))?/(?P<plural>[^/]+)"
                   r"(/(?P<name>[^/]+))?(/(?P<sub>log|exec))?")  # fmt: skip


class Happening(NamedTuple):
    """One change, as watches tell of it."""

    version: int
    plural: str
    kind: str
    document: Doc


class SimulatedApiServer:
    """Stands for the API server, the scheduler, the kubelets and the MPI Operator."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Doc] = {}
        self.logs: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.queries: list[dict[str, str]] = []
        self.deletions: list[Doc] = []
        self.history: list[Happening] = []
        self.refusals: dict[str, tuple[int, str]] = {}
        self.retry_after = ""
        self.log_queries: list[str] = []
        self.is_down = False
        self.token = "t"
        self.page: tuple[int, str] | None = None
        self.loses_answers = False
        self.is_stopped = False
        self.files: dict[str, bytes] = {}
        self.exec_cuts: list[int] = []
        self.log_cuts: dict[str, list[int]] = {}
        self.log_begins: dict[str, int] = {}
        self.stamp = stamped
        self.forbidden: set[tuple[str, str]] = set()
        self.oldest = 0
        self.version = 100
        self.changed = threading.Condition()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self.http.daemon_threads = True
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def expire(self, token: str = "other") -> None:
        """Take no token but this one from now on, and end all watches, as a server does whose keys change."""
        self.token = token
        self.forget()

    def kubeconfig(self, folder: Path, token: str = "t") -> Path:
        path = folder / "kubeconfig"
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": self.url}}],
            "users": [{"name": "it", "user": {"token": token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": "bench"}}],
        }  # fmt: skip
        path.write_text(json.dumps(config))
        return path

    def stop(self) -> None:
        self.is_down = self.is_stopped = True
        with self.changed:
            self.changed.notify_all()
        self.http.shutdown()
        self.http.server_close()

    # What tests let happen

    def names(self, plural: str) -> list[str]:
        with self.changed:
            return sorted(name for kind, name in self.objects if kind == plural)

    def apply(self, plural: str, document: Doc) -> None:
        """Add or replace an object, and tell watches."""
        with self.changed:
            name = document["metadata"]["name"]
            old = self.objects.get((plural, name))
            kind = "MODIFIED" if old else "ADDED"
            new = f"uid-{self.version}"
            document["metadata"].setdefault("uid", old["metadata"]["uid"] if old else new)
            self._record(plural, kind, document)
            self.objects[plural, name] = document

    def remove(self, plural: str, name: str) -> None:
        with self.changed:
            self._record(plural, "DELETED", self.objects.pop((plural, name)))

    def is_over(self, pod: str) -> bool:
        """Return whether a pod's container has ended, or the pod is gone."""
        with self.changed:
            status = self.objects.get(("pods", pod), {}).get("status", {"phase": "Failed"})
        return status.get("phase") in {"Succeeded", "Failed"}

    def forget(self) -> None:
        """Forget what happened, as etcd's compaction does, and end all watches."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.history.clear()
            self.changed.notify_all()

    def outage(self, *, is_down: bool) -> None:
        """Answer nothing any more, or again; watches end."""
        with self.changed:
            self.is_down = is_down
            self.changed.notify_all()

    def pod(self, name: str, owner: Doc, template: Doc, **status: Any) -> None:
        """Make or change a pod of a job, as its controller does."""
        old = self.objects.get(("pods", name), {})
        labels = template.get("metadata", {}).get("labels", {})
        annotations = old.get("metadata", {}).get("annotations", {})
        meta = {"name": name, "labels": labels, "annotations": annotations}
        meta["namespace"] = owner["metadata"]["namespace"]
        if owner["kind"] != "Pod":
            meta["ownerReferences"] = [controller(owner, name)]
        node = status.pop("node", old.get("spec", {}).get("nodeName", ""))
        spec = {**template.get("spec", {}), **({"nodeName": node} if node else {})}
        self.apply("pods", {"metadata": meta, "spec": spec, "status": {**old.get("status", {}), **status}})

    def _record(self, plural: str, kind: str, document: Doc) -> None:
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        self.history.append(Happening(self.version, plural, kind, json.loads(json.dumps(document))))
        self.changed.notify_all()

    # HTTP

    def serve(
        self, method: str, found: re.Match[str], query: dict[str, str], body: bytes
    ) -> tuple[int, Doc | bytes]:
        plural, name = found["plural"], found["name"]
        if plural == "selfsubjectaccessreviews":
            asked = json.loads(body)["spec"]["resourceAttributes"]
            what = asked["resource"] + (f"/{asked['subresource']}" if asked["subresource"] else "")
            return 201, {"status": {"allowed": (asked["verb"], what) not in self.forbidden}}
        if method == "POST":
            document = json.loads(body)
            if (plural, document["metadata"]["name"]) in self.objects:
                return 409, {"message": "already exists", "reason": "AlreadyExists"}
            self.apply(plural, document)
            return (503, {"message": "answer lost"}) if self.loses_answers else (201, document)
        selector = query.get("labelSelector", "")
        with self.changed:
            if method == "GET" and name:
                one = self.objects.get((plural, name))
                return (200, one) if one else (404, {"message": "not found"})
            items = [d for (kind, _), d in self.objects.items() if kind == plural and selects(selector, d)]
            version = str(self.version)
        if method == "GET":
            self.queries.append(query)
            items = [one for one in items if _is_among(query.get("fieldSelector", ""), one)]
            first, most = int(query.get("continue", 0)), int(query.get("limit", len(items)))
            more = {"continue": str(first + most)} if first + most < len(items) else {}
            return 200, {
                "metadata": {"resourceVersion": version, **more},
                "items": items[first : first + most],
            }
        if method == "PATCH":
            document = self.objects[plural, name]
            change = json.loads(body)
            version = change.get("metadata", {}).get("resourceVersion")
            if version and version != document["metadata"]["resourceVersion"]:
                return 409, {"message": "the object has been modified", "reason": "Conflict"}
            document["spec"] |= change.get("spec", {})
            for name in ("labels", "annotations"):
                document["metadata"].setdefault(name, {}).update(change.get("metadata", {}).get(name, {}))
            self.apply(plural, document)
            return 200, document
        options: Doc = json.loads(body) if body else dict(query)
        self.deletions.append({"plural": plural, **query, **options})
        for document in items:
            meta = document["metadata"]
            if not _is_among(query.get("fieldSelector", ""), document):
                continue
            only: Doc = options.get("preconditions", {})
            if any(meta[key] != value for key, value in only.items()):
                return 409, {"message": f"{meta['name']} is another one", "reason": "Conflict"}
            self._delete(plural, meta["name"], is_forced=options.get("gracePeriodSeconds") == 0)
        return 200, {}

    def _delete(self, plural: str, name: str, *, is_forced: bool = False) -> None:
        """Delete an object, and the pods that a job owns, as the garbage collector does."""
        if plural == "pods" and not is_forced and self._is_silent(self.objects[plural, name]):
            pod = self.objects[plural, name]
            self.apply(plural, {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}})
            return
        self.remove(plural, name)
        for pod_name in self.names("pods") if plural != "pods" else ():
            owners = self.objects["pods", pod_name]["metadata"].get("ownerReferences", [])
            if any(one["name"] in {name, f"{name}-launcher"} for one in owners):
                self._delete("pods", pod_name)

    def _is_silent(self, pod: Doc) -> bool:
        """Return whether no kubelet ends a pod, because its node does not answer."""
        node = self.objects.get(("nodes", pod["spec"].get("nodeName", "")), {})
        conditions = node.get("status", {}).get("conditions", [])
        return any((one["type"], one["status"]) == ("Ready", "Unknown") for one in conditions)


class _Handler(BaseHTTPRequestHandler):
    """One connection to the simulated self.api."""

    api: SimulatedApiServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body is sent after its head, and does not wait 40 ms for a delayed ACK

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        pass

    def _answer(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.api.is_down:
            self._send(503, {"message": "etcd is away"})
            return
        if self.api.page is not None:
            status, content = self.api.page
            self._send(status, content.encode(), "text/html; charset=utf-8")
            return
        if self.headers.get("Authorization", f"Bearer {self.api.token}") != f"Bearer {self.api.token}":
            self._send(401, {"message": "Unauthorized"})
            return
        self.api.requests.append(f"{self.command} {url.path}{'?watch' if 'watch' in query else ''}")
        for pattern, (status, message) in self.api.refusals.items():
            if re.search(pattern, self.api.requests[-1]):
                self._send(status, {"message": message, "reason": "Conflict" if status == 409 else ""})
                return
        found = _PATH.fullmatch(url.path)
        if url.path == "/version":
            self._send(200, {"gitVersion": "v1.34.4"})
        elif found is None:
            self._send(404, {"message": f"no such path {url.path}"})
        elif "watch" in query:
            self._watch(found["plural"], query)
        elif found["sub"] == "log":
            self._log(found["name"], query)
        elif found["sub"] == "exec":
            self._exec(parse_qs(url.query)["command"])
        else:
            self._send(*self.api.serve(self.command, found, query, body))

    do_GET = do_POST = do_DELETE = do_PATCH = _answer  # noqa: N815  # the base class's names

    def _send(self, status: int, document: Doc | bytes, kind: str = "") -> None:
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        if status >= 400 and self.api.retry_after:
            self.send_header("Retry-After", self.api.retry_after)
        if status // 100 == 3:
            self.send_header("Location", "https://sso.example.org/login?back=1")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _log(self, name: str, query: dict[str, str]) -> None:
        """Send a log as kubelets do: from a rotation or a time on; if followed, while the container runs.

        A proxy may cut it, after as many bytes as a test says, with an end that HTTP takes for one.
        """
        self.api.log_queries += [f"{key}={value}" for key, value in query.items()]
        if name not in self.api.logs:
            self._send(404, {"message": f"no log of {name}"})
            return
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        cuts = self.api.log_cuts.get(name) or [sys.maxsize]
        left, n_sent = cuts.pop(0), 0
        try:
            while left > 0 and not self.api.is_down:
                is_over = self.api.is_over(name) or "follow" not in query
                lines = self.api.stamp(self.api.logs[name])
                first = self.api.log_begins.get(name, 0)
                for number, (stamp, line) in enumerate(lines):
                    if number < max(n_sent, first) or stamp < query.get("sinceTime", ""):
                        continue
                    data = (f"{stamp} ".encode() if stamp and "timestamps" in query else b"") + line
                    self.wfile.write(data[:left])
                    left = max(left - len(data), 0)
                n_sent = len(lines)
                self.wfile.flush()
                if is_over:
                    return
                with self.api.changed:
                    self.api.changed.wait(0.1)
        except OSError:
            return  # the client went away

    def _exec(self, command: list[str]) -> None:
        """Stand for a shell that prints part of a file, packed: over a WebSocket, which may be cut."""
        accepted = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + _GUID).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accepted).decode())
        self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"])
        self.end_headers()
        self.close_connection = True
        start, path, length = command[-3:]
        data = self.api.files[path][int(start) - 1 :][: int(length)]
        packed = gzip.compress(data, 1)
        left = self.api.exec_cuts.pop(0) if self.api.exec_cuts else len(packed)
        session = Connection(ConnectionType.SERVER)
        for at in range(0, min(left, len(packed)), 32768):
            part = packed[at : min(at + 32768, left)]
            self.wfile.write(session.send(BytesMessage(b"\x01" + part)))
        if left >= len(packed):
            self.wfile.write(session.send(BytesMessage(b'\x03{"status":"Success"}')))
            self.wfile.write(session.send(CloseConnection(1000)))

    def _watch(self, plural: str, query: dict[str, str]) -> None:
        at, oldest = int(query["resourceVersion"]), self.api.oldest
        if at < oldest:
            self._send(410, {"message": "too old"})
            return
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while not self.api.is_down and self.api.oldest == oldest:
                with self.api.changed:
                    news = [h for h in self.api.history if h.version > at and h.plural == plural]
                    if not news:
                        self.api.changed.wait(0.5)
                        continue
                for one in news:
                    at = one.version
                    if selects(query.get("labelSelector", ""), one.document):
                        line = json.dumps({"type": one.kind, "object": one.document})
                        self.wfile.write(line.encode() + b"\n")
                self.wfile.flush()
        except OSError:
            return  # the client went away


def controller(owner: Doc, pod: str) -> Doc:
    """Return the reference from a pod to what created it: for a launcher, the MPI Operator's Job."""
    name, kind = owner["metadata"]["name"], owner["kind"]
    if kind == "MPIJob" and pod.startswith(f"{name}-launcher-"):
        name, kind = f"{name}-launcher", "Job"
    return {"kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}


def _is_among(fields: str, document: Doc) -> bool:
    """Return whether a selector of fields takes a document; those that are not asked for here always do."""
    has = {"metadata.name": document["metadata"]["name"]}
    has["spec.nodeName"] = document.get("spec", {}).get("nodeName", "")
    asked = [part.split("=", 1) for part in fields.split(",") if part]
    return all(has.get(name, value) == value for name, value in asked)


def selects(selector: str, document: Doc) -> bool:
    """Return whether a selector of the forms ``a=b`` and ``a in (b,c)`` takes a document."""
    labels = document["metadata"].get("labels", {})
    for part in re.split(r",(?![^(]*\))", selector):
        if " in (" in part:
            name, _, values = part.partition(" in (")
            if labels.get(name) not in values.rstrip(")").split(","):
                return False
        elif part and labels.get(part.partition("=")[0]) != part.partition("=")[2]:
            return False
    return True


def stamped(log: bytes) -> list[tuple[str, bytes]]:
    """Return the lines of a log, each with the time that the kubelet tells of it."""
    lines = log.splitlines(keepends=True)
    return [(f"2026-01-01T00:00:{n // 100:02d}.{n % 100:09d}Z", line) for n, line in enumerate(lines)]
