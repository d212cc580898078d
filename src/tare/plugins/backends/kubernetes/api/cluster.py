"""Make requests to the API server of one cluster, and turn its failures into Tare's errors.

Example:

    cluster = Cluster.connect(options)
    items, version = cluster.list_all(PODS, selector)
    for event in cluster.watch(PODS, selector, version): ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError, UsageError
from tare.plugins.backends.kubernetes.api.connection import (
    TIMEOUT_S,
    Connection,
    NotAnApiServer,
    Outage,
    Refusal,
)
from tare.plugins.backends.kubernetes.objects.merging import Json, kind_of
from tare.plugins.backends.kubernetes.options import KubernetesOptions

if TYPE_CHECKING:
    import httpx2

__all__ = ["Cluster", "Gone", "NotAnApiServer", "Outage", "Refusal", "Resource"]

_Kind = TypeVar("_Kind")

_WATCH_S = 300  # the server ends a watch regularly after this time
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')  # RFC 7234, as the API server uses it
NOT_FOUND = 404
"""The status of a refusal for an object, or a kind of objects, that is not there."""
_CONFLICT, _GONE = 409, 410
_PAGE = 500  # objects, as kubectl asks for
_OF_KUBELET = {500, 502, 504}  # the API server's status for a log whose node does not answer


class Resource(NamedTuple):
    """A kind of object as it is named in the API's paths; `is_namespaced` is false for cluster-wide kinds."""

    group: str
    plural: str
    kind: str
    is_namespaced: bool = True


PODS = Resource("api/v1", "pods", "Pod")
EVENTS = Resource("api/v1", "events", "Event")
CONFIG_MAPS = Resource("api/v1", "configmaps", "ConfigMap")
CLAIMS = Resource("api/v1", "persistentvolumeclaims", "PersistentVolumeClaim")
QUOTAS = Resource("api/v1", "resourcequotas", "ResourceQuota")
LIMIT_RANGES = Resource("api/v1", "limitranges", "LimitRange")
NODES = Resource("api/v1", "nodes", "Node", is_namespaced=False)
NAMESPACES = Resource("api/v1", "namespaces", "Namespace", is_namespaced=False)
STORAGE_CLASSES = Resource("apis/storage.k8s.io/v1", "storageclasses", "StorageClass", is_namespaced=False)
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
"""The software that adds the kinds which are no part of Kubernetes."""
WRITTEN = {one.kind: one for one in (PODS, CONFIG_MAPS, JOBS, MPI_JOBS, ATTACHMENTS, LEASES)}
"""The kinds of objects that Tare creates, by name."""


class Gone(Exception):
    """The server no longer has the history since the given version (status 410): list again."""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, frozen=True):
    """A page of a list; Go writes a list that was never filled as null."""

    metadata: _ListMeta | None = None
    items: list[msgspec.Raw] | None = None


class Cluster:
    """Makes requests in one namespace, unless a request names another. Threads may share it."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self.connection = connection
        self.namespace = namespace

    @property
    def has_answered(self) -> bool:
        """Return whether the API server has ever answered a request and accepted our identity."""
        return self.connection.has_answered

    @classmethod
    def connect(cls, options: KubernetesOptions, timeout_s: float = TIMEOUT_S) -> Cluster:
        """Return the cluster that `options` name; it is found as kubectl finds it.

        Raises UsageError where the client library is missing, or no such cluster is known.
        """
        try:
            from tare.plugins.backends.kubernetes.api.credentials import Credentials
        except ImportError as error:
            raise UsageError(
                "backend kubernetes needs a client library; pip install 'tare-hpc[kubernetes]'"
            ) from error
        credentials = Credentials(options)
        connection = Connection(lambda: credentials.client(timeout_s), credentials.token_name())
        return cls(connection, options.namespace)

    def create(self, manifest: Json) -> bool:
        """Create an object; return False if an object of this name exists already.

        The server refuses fields that the API does not know, and does not drop them. Raises Refusal or
        Outage.
        """
        kind, namespace = kind_of(manifest), _namespace_of(manifest) or self.namespace
        query = {"fieldValidation": "Strict"}
        try:
            self._request("POST", self._path(WRITTEN[kind], namespace=namespace), query, manifest)
        except Refusal as refusal:
            if refusal.status == _CONFLICT:
                return False
            if "being terminated" in str(refusal):
                cure = f"make namespace {namespace} again, with the rights in it (deploy/kubernetes)"
                raise Refusal(refusal.status, f"{refusal}; {cure}") from refusal
            if refusal.status == NOT_FOUND and kind in _MADE_BY:  # the kind's path, or the namespace in it
                cure = f"is {_MADE_BY[kind]} installed, and is there a namespace {namespace}?"
                raise Refusal(refusal.status, f"{refusal}; {cure}") from refusal
            raise
        return True

    def try_out(self, manifest: Json) -> tuple[bytes, list[str]]:
        """Return an object as the server would create it, and the server's warnings; nothing is created.

        Raises Refusal or Outage.
        """
        namespace = _namespace_of(manifest) or self.namespace
        query = {"fieldValidation": "Strict", "dryRun": "All"}
        path = self._path(WRITTEN[kind_of(manifest)], namespace=namespace)
        answer = self._request("POST", path, query, manifest)
        warnings = _WARNING.findall(answer.headers.get("Warning", ""))
        return answer.content, [re.sub(r"\\(.)", r"\1", one) for one in warnings]

    def list_all(
        self, resource: Resource, selector: str = "", fields: str = ""
    ) -> tuple[list[msgspec.Raw], str]:
        """Return objects, and the version from which to watch them. Raises Refusal or Outage."""
        items: list[msgspec.Raw] = []
        version = ""
        for page in self._pages(self._path(resource), _selection(selector, fields)):
            items += page.items or ()
            version = page.metadata.resource_version if page.metadata else ""
        return items, version

    def read_all(
        self, resource: Resource, kind: type[_Kind], selector: str = "", fields: str = ""
    ) -> list[_Kind]:
        """Return the objects of the namespace, or of a cluster-wide kind (see read_everywhere)."""
        return list(self._read(self._path(resource), kind, selector, fields))

    def read_everywhere(
        self, resource: Resource, kind: type[_Kind], selector: str = "", fields: str = ""
    ) -> Iterator[_Kind]:
        """Yield the objects of all namespaces, decoded as `kind`; one page is in memory at a time.

        A kind that the cluster does not know has no objects. Raises Refusal, Outage, or BackendError (see
        decoded).
        """
        return self._read(f"/{resource.group}/{resource.plural}", kind, selector, fields)

    def _read(self, path: str, kind: type[_Kind], selector: str, fields: str) -> Iterator[_Kind]:
        try:
            for page in self._pages(path, _selection(selector, fields)):
                yield from (decoded(item, kind) for item in page.items or ())
        except Refusal as refusal:
            if refusal.status != NOT_FOUND:
                raise

    def _pages(self, path: str, query: dict[str, str]) -> Iterator[_List]:
        """Yield pages of a list.

        Raises Refusal or Outage; Outage also where the server has lost the rest of the list: ask again.
        """
        query = query | {"limit": str(_PAGE)}
        known = set[str]()
        while True:
            try:
                page = _page(self._request("GET", path, query).content)
            except Refusal as refusal:
                if refusal.status == _GONE:
                    raise Outage(f"it changed while it was listed: {refusal}", _GONE) from refusal
                raise
            yield page
            if page.metadata is None or not page.metadata.next:
                return
            query["continue"] = page.metadata.next
            if page.metadata.next in known:
                raise Outage(f"the API server lists {path} with a page that it has sent before")
            known.add(page.metadata.next)

    def get(self, resource: Resource, name: str, namespace: str = "") -> bytes | None:
        """Return an object; None where there is none. Raises Refusal or Outage."""
        try:
            return self._request("GET", self._path(resource, name, namespace), {}).content
        except Refusal as refusal:
            if refusal.status == NOT_FOUND:
                return None
            raise

    def watch(self, resource: Resource, selector: str, version: str) -> Iterator[bytes]:
        """Yield the changes of objects since `version`, one JSON document each.

        The server ends the watch after some time. Raises Gone, Refusal or Outage.
        """
        query = _selection(selector, "") | {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_S),
        }
        try:
            with self.connection.stream(self._path(resource), query, _WATCH_S + TIMEOUT_S) as answer:
                if answer is None:
                    return
                for line in answer.iter_lines():
                    if line:
                        yield line.encode()
        except Refusal as refusal:
            if refusal.status == _GONE:
                raise Gone from refusal
            raise

    def log(self, pod: str, container: str) -> bytes:
        """Return the log of a container of `pod`. Raises Refusal, also of its kubelet, or Outage."""
        path, query = f"{self._path(PODS, pod)}/log", {"container": container}
        try:
            return self._request("GET", path, query, is_json=False).content
        except Outage as outage:
            raise _of_kubelet(outage) from outage

    @contextmanager
    def log_stream(
        self, pod: str, container: str, since: str, *, follows: bool, quiet_s: float
    ) -> Iterator[Iterator[bytes]]:
        """Yield the log of a container of `pod` since a time (RFC 3339), in parts as they arrive.

        Its lines have time stamps. With `follows`, the log goes on until the container ends. Raises Refusal
        (also one of the kubelet) or Outage; Outage also if nothing arrives for `quiet_s` seconds.
        """
        import httpx2

        query = {"container": container, "timestamps": "true"} | ({"follow": "true"} if follows else {})
        query |= {"sinceTime": since} if since else {}
        path = f"{self._path(PODS, pod)}/log"
        try:
            with self.connection.stream(path, query, quiet_s, "the log was cut") as answer:
                if answer is None:
                    raise Outage("Tare ends, or has logged in again")
                yield answer.iter_bytes()
        except httpx2.StreamError as error:
            raise Outage(f"the log was cut: {type(error).__name__} {error}") from error
        except Outage as outage:
            raise _of_kubelet(outage) from outage

    def exec_path(self, pod: str) -> str:
        """Return the path at which commands are run in `pod` (see executing)."""
        return f"{self._path(PODS, pod)}/exec"

    def patch(self, resource: Resource, name: str, change: Json) -> None:
        """Merge `change` into an object. Raises Refusal or Outage."""
        self._request("PATCH", self._path(resource, name), {}, change, "application/merge-patch+json")

    def delete(
        self, resource: Resource, name: str, uid: str, grace_s: int | None = None, *, version: str = ""
    ) -> None:
        """Delete the object of this name and `uid`, and the objects that it owns; no other one of the name.

        With a `version`, it is deleted only if nobody has changed it since. With a `grace_s` of 0, a pod's
        object is deleted at once, even if its containers still run. An object that is gone is no error.
        Raises Refusal or Outage.
        """
        only: dict[str, Json] = {"uid": uid}
        if version:
            only["resourceVersion"] = version
        options: dict[str, Json] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": only}
        options["propagationPolicy"] = "Background"
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        try:  # a collection of one, for which the right to deletecollection is enough
            self._delete(resource, _selection("", f"metadata.name={name}"), options)
        except Outage as outage:
            if outage.status != _CONFLICT:
                raise

    def _delete(self, resource: Resource, query: dict[str, str], options: Json) -> None:
        """Delete objects. A kind that the cluster does not know has none."""
        try:
            self._request("DELETE", self._path(resource), query, options)
        except Refusal as refusal:
            if refusal.status != NOT_FOUND:
                raise

    def post(self, path: str, body: Json) -> bytes:
        """Post a document that is not stored, such as an access review. Raises Refusal or Outage."""
        return self._request("POST", path, {}, body).content

    def version(self) -> bytes:
        """Return the server's version document. Raises Refusal or Outage."""
        return self._request("GET", "/version", {}).content

    def serves(self, group: str) -> bool:
        """Return whether the API has a group, such as ``apis/apps/v1``. Raises Refusal or Outage."""
        try:
            self._request("GET", f"/{group}", {})
        except Refusal as refusal:
            if refusal.status == NOT_FOUND:
                return False
            raise
        return True

    def end_watches(self) -> None:
        """Close the connections of watches; their threads end then."""
        self.connection.end_streams()

    def close(self) -> None:
        """Close all connections, those of watches too."""
        self.connection.close()

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
    ) -> httpx2.Response:
        content = None if body is None else msgspec.json.encode(body)
        return self.connection.ask(method, path, query, content, form, is_json=is_json)


def _of_kubelet(outage: Outage) -> BackendError:
    """Return a Refusal for a status that means that the node, not the API server, does not answer."""
    return Refusal(outage.status, str(outage)) if outage.status in _OF_KUBELET else outage


def decoded(content: bytes | msgspec.Raw, kind: type[_Kind]) -> _Kind:
    """Return an object as `kind`. Raises BackendError if it has another form, such as a null for labels."""
    try:
        return decode_json(content, type=kind)
    except NOT_JSON as error:
        raise BackendError(
            f"the API server sent an object in a form that Tare does not know: {error}"
        ) from error


def _page(content: bytes) -> _List:
    try:
        return decode_json(content, type=_List)
    except NOT_JSON as error:
        raise Outage(f"the API server answers with what is no list: {error}") from error


def _selection(selector: str, fields: str) -> dict[str, str]:
    asked = {"labelSelector": selector, "fieldSelector": fields}
    return {name: value for name, value in asked.items() if value}


def _namespace_of(manifest: Json) -> str:
    meta = manifest.get("metadata") if isinstance(manifest, dict) else None
    return str(meta.get("namespace", "")) if isinstance(meta, dict) else ""
