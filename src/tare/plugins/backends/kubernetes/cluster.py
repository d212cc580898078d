"""The API of one cluster: the requests that Tare makes, and what their failures mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tare.core.errors import NOT_JSON, BackendError, UsageError
from tare.plugins.backends.kubernetes.connection import TIMEOUT_S, Connection, NotAnApiServer, Outage, Refusal
from tare.plugins.backends.kubernetes.manifests import Json
from tare.plugins.backends.kubernetes.options import KubernetesOptions

if TYPE_CHECKING:
    import httpx2

__all__ = ["Cluster", "Gone", "NotAnApiServer", "Outage", "Refusal", "Resource"]

_WATCH_S = 300  # how long the server keeps a watch before it ends it, well
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')  # RFC 7234, as the API server uses it
_NOT_FOUND, _CONFLICT, _GONE = 404, 409, 410
_PAGE = 500  # objects, as kubectl asks for
_OF_KUBELET = {500, 502, 504}  # what the API server says of a log whose node does not answer


class Resource(NamedTuple):
    """A kind of object as the API's paths call it; `is_namespaced` says whether namespaces have it."""

    group: str
    plural: str
    kind: str
    is_namespaced: bool = True


PODS = Resource("api/v1", "pods", "Pod")
EVENTS = Resource("api/v1", "events", "Event")
CONFIG_MAPS = Resource("api/v1", "configmaps", "ConfigMap")
CLAIMS = Resource("api/v1", "persistentvolumeclaims", "PersistentVolumeClaim")
QUOTAS = Resource("api/v1", "resourcequotas", "ResourceQuota")
NODES = Resource("api/v1", "nodes", "Node", is_namespaced=False)
LEASES = Resource("apis/coordination.k8s.io/v1", "leases", "Lease")
DEPLOYMENTS = Resource("apis/apps/v1", "deployments", "Deployment")
NETWORK_POLICIES = Resource("apis/networking.k8s.io/v1", "networkpolicies", "NetworkPolicy")
JOBS = Resource("apis/batch/v1", "jobs", "Job")
MPI_JOBS = Resource("apis/kubeflow.org/v2beta1", "mpijobs", "MPIJob")
ATTACHMENTS = Resource(
    "apis/k8s.cni.cncf.io/v1", "network-attachment-definitions", "NetworkAttachmentDefinition"
)
CRDS = Resource(
    "apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False
)

_MADE_BY = {MPI_JOBS.kind: "the MPI Operator", ATTACHMENTS.kind: "Multus"}
"""Who brings the kinds that are no part of Kubernetes."""
WRITTEN = {one.kind: one for one in (PODS, CONFIG_MAPS, JOBS, MPI_JOBS, ATTACHMENTS, LEASES)}
"""What Tare creates, by kind."""


class Gone(Exception):
    """What happened since the version from which to watch is forgotten (410): list again."""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    items: list[msgspec.Raw] = []


class Cluster:
    """Makes requests in one namespace, unless a request names another. Threads may share it."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self.namespace = namespace
        self.n_requests = 0
        self.n_watches = 0

    @property
    def has_answered(self) -> bool:
        """Return whether the API server has ever answered, and known us."""
        return self._connection.has_answered

    @classmethod
    def connect(cls, options: KubernetesOptions) -> Cluster:
        """Return the cluster that `options` name, as kubectl would find it.

        Raises UsageError where the client library is missing, or no such cluster is known.
        """
        try:
            from tare.plugins.backends.kubernetes.credentials import Credentials
        except ImportError as error:
            raise UsageError(
                "backend kubernetes needs a client library; pip install 'tare-hpc[kubernetes]'"
            ) from error
        credentials = Credentials(options)
        connection = Connection(lambda: credentials.client(TIMEOUT_S), credentials.whose())
        return cls(connection, options.namespace)

    def create(self, manifest: Json) -> bool:
        """Create an object; return False when there is one of its name already.

        Fields that the API does not know are refused, not dropped. Raises Refusal or Outage.
        """
        kind, namespace = _kind_of(manifest), _namespace_of(manifest) or self.namespace
        query = {"fieldValidation": "Strict"}
        try:
            self._request("POST", self._path(WRITTEN[kind], namespace=namespace), query, manifest)
        except Refusal as refusal:
            if refusal.status == _CONFLICT:
                return False
            if refusal.status == _NOT_FOUND and kind in _MADE_BY:  # the path, or the namespace in it
                cure = f"is {_MADE_BY[kind]} installed, and is there a namespace {namespace}?"
                raise Refusal(refusal.status, f"{refusal}; {cure}") from refusal
            raise
        return True

    def try_out(self, manifest: Json) -> tuple[bytes, list[str]]:
        """Return an object as it would be made, and what the API server warns of; nothing is made.

        Raises Refusal or Outage.
        """
        kind, namespace = _kind_of(manifest), _namespace_of(manifest) or self.namespace
        query = {"fieldValidation": "Strict", "dryRun": "All"}
        path = self._path(WRITTEN[kind], namespace=namespace)
        answer = self._answer("POST", path, query, manifest)
        warnings = _WARNING.findall(answer.headers.get("Warning", ""))
        return bytes(answer.content), [re.sub(r"\\(.)", r"\1", one) for one in warnings]

    def list_all(
        self, resource: Resource, selector: str = "", fields: str = ""
    ) -> tuple[list[msgspec.Raw], str]:
        """Return objects, and the version from which to watch them. Raises Refusal or Outage."""
        items: list[msgspec.Raw] = []
        version = ""
        for page in self._pages(self._path(resource), _selection(selector, fields)):
            items += page.items
            version = page.metadata.resource_version
        return items, version

    def list_everywhere(
        self, resource: Resource, fields: str = "", selector: str = ""
    ) -> Iterator[msgspec.Raw]:
        """Yield objects of all namespaces, of which no more than a page is held. Raises Refusal or Outage."""
        for page in self._pages(f"/{resource.group}/{resource.plural}", _selection(selector, fields)):
            yield from page.items

    def _pages(self, path: str, query: dict[str, str]) -> Iterator[_List]:
        """Yield pages. Raises Refusal, and Outage, too, where the rest is forgotten: ask again."""
        query = query | {"limit": str(_PAGE)}
        while True:
            try:
                page = _page(self._request("GET", path, query))
            except Refusal as refusal:
                if refusal.status == _GONE and "continue" in query:
                    raise Outage(f"it changed while it was listed: {refusal}", _GONE) from refusal
                raise
            yield page
            if not page.metadata.next:
                return
            query["continue"] = page.metadata.next

    def get(self, resource: Resource, name: str, namespace: str = "") -> bytes | None:
        """Return an object; None where there is none. Raises Refusal or Outage."""
        try:
            return self._request("GET", self._path(resource, name, namespace), {})
        except Refusal as refusal:
            if refusal.status == _NOT_FOUND:
                return None
            raise

    def watch(self, resource: Resource, selector: str, version: str) -> Iterator[bytes]:
        """Yield what happens to objects from `version` on, a JSON document each, until the server ends it.

        Raises Gone, Refusal or Outage.
        """
        self.n_watches += 1
        query = _selection(selector, "") | {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_S),
        }
        try:
            with self._connection.stream(self._path(resource), query, _WATCH_S + TIMEOUT_S) as answer:
                if answer is None:
                    return
                for line in answer.iter_lines():
                    if line:
                        yield line.encode()
        except Refusal as refusal:
            if refusal.status == _GONE:
                raise Gone from refusal
            raise

    def log(self, pod: str) -> bytes:
        """Return what the one container of `pod` wrote. Raises Refusal, its kubelet's too, or Outage."""
        try:
            return self._request("GET", f"{self._path(PODS, pod)}/log", {}, is_json=False)
        except Outage as outage:
            raise _of_kubelet(outage) from outage

    @contextmanager
    def log_stream(self, pod: str, since: str, *, follows: bool, quiet_s: float) -> Iterator[Iterator[bytes]]:
        """Yield what `pod` wrote since a time (RFC 3339), each line behind its time, in parts as they come.

        When it `follows`, they come until the container ends. Raises Refusal, its kubelet's too, or Outage:
        also after `quiet_s` without a word.
        """
        import httpx2

        self.n_requests += 1
        query = {"timestamps": "true"} | ({"follow": "true"} if follows else {})
        query |= {"sinceTime": since} if since else {}
        path = f"{self._path(PODS, pod)}/log"
        try:
            with self._connection.stream(path, query, quiet_s, "the log was cut") as answer:
                if answer is None:
                    raise Outage("Tare ends, or has logged in again")
                yield answer.iter_bytes()
        except httpx2.StreamError as error:
            raise Outage(f"the log was cut: {type(error).__name__} {error}") from error
        except Outage as outage:
            raise _of_kubelet(outage) from outage

    def exec_path(self, pod: str) -> str:
        """Return where commands are run in `pod` (see executing)."""
        return f"{self._path(PODS, pod)}/exec"

    def upgrade_fault(self, http: httpx2.Client, status: int, what: str) -> BackendError:
        """Return what it means that a WebSocket was refused (see Connection)."""
        return self._connection.upgrade_fault(http, status, what)

    @property
    def http(self) -> httpx2.Client:
        """Return the client, for what is no plain request."""
        return self._connection.http

    def patch(self, resource: Resource, name: str, change: Json) -> None:
        """Merge `change` into an object. Raises Refusal or Outage."""
        self._request("PATCH", self._path(resource, name), {}, change, "application/merge-patch+json")

    def delete_all(
        self, resource: Resource, selector: str, fields: str = "", grace_s: int | None = None
    ) -> None:
        """Delete the objects that both select, and what they own. Raises Refusal or Outage.

        With a `grace_s` of 0 a pod's object goes at once, whatever becomes of its containers.
        """
        query = _selection(selector, fields) | {"propagationPolicy": "Background"}
        if grace_s is not None:
            query["gracePeriodSeconds"] = str(grace_s)
        self._request("DELETE", self._path(resource), query)

    def post(self, path: str, body: Json) -> bytes:
        """Post to the API what is no object to keep, such as a review. Raises Refusal or Outage."""
        return self._request("POST", path, {}, body)

    def version(self) -> bytes:
        """Return the server's version document. Raises Refusal or Outage."""
        return self._request("GET", "/version", {})

    def end_watches(self) -> None:
        """End the connections of watches, and with them their threads."""
        self._connection.end_streams()

    def close(self) -> None:
        """End all connections, watches too."""
        self._connection.close()

    def _path(self, resource: Resource, name: str = "", namespace: str = "") -> str:
        inside = f"/namespaces/{namespace or self.namespace}" if resource.is_namespaced else ""
        return f"/{resource.group}{inside}/{resource.plural}" + (f"/{name}" if name else "")

    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Json = None,
        form: str = "application/json",
        *,
        is_json: bool = True,
    ) -> bytes:
        return bytes(self._answer(method, path, query, body, form, is_json=is_json).content)

    def _answer(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Json = None,
        form: str = "application/json",
        *,
        is_json: bool = True,
    ) -> httpx2.Response:
        self.n_requests += 1
        content = None if body is None else msgspec.json.encode(body)
        return self._connection.ask(method, path, query, content, form, is_json=is_json)


def _of_kubelet(outage: Outage) -> BackendError:
    """Return an outage that is the node's, not the API server's, as what it is."""
    return Refusal(outage.status, str(outage)) if outage.status in _OF_KUBELET else outage


def _page(content: bytes) -> _List:
    try:
        return msgspec.json.decode(content, type=_List)
    except NOT_JSON as error:
        raise Outage(f"the API server answers with what is no list: {error}") from error


def _selection(selector: str, fields: str) -> dict[str, str]:
    asked = {"labelSelector": selector, "fieldSelector": fields}
    return {name: value for name, value in asked.items() if value}


def _kind_of(manifest: Json) -> str:
    return str(manifest["kind"]) if isinstance(manifest, dict) else ""


def _namespace_of(manifest: Json) -> str:
    meta = manifest.get("metadata") if isinstance(manifest, dict) else None
    return str(meta.get("namespace", "")) if isinstance(meta, dict) else ""
