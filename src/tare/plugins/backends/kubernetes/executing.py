"""Run a command in a pod and yield its output: the API's ``exec``, over a WebSocket (v4.channel.k8s.io).

The client is httpx2, with the cluster's certificates and tokens; lightkube has no ``exec`` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tare.core import log
from tare.core.errors import NOT_JSON, UsageError
from tare.core.log import fields
from tare.plugins.backends.kubernetes.cluster import Cluster, Outage, Refusal

_LOG = log.of("kubernetes")

_PROTOCOL = "v4.channel.k8s.io"
_STDOUT, _STDERR, _ERROR = 1, 2, 3
_MOST_MESSAGE = 16 * 1024 * 1024
_QUEUE = 32  # messages that wait to be read; the kubelet's have 32 KiB
_SILENT_S = 60.0
_MOST_STDERR = 2000
_MAY_PASS, _SERVER_FAULT = {401, 429}, 500


class _Status(msgspec.Struct, frozen=True):
    status: str = ""
    message: str = ""


def execute(cluster: Cluster, pod: str, command: Sequence[str]) -> Iterator[bytes]:
    """Yield what `command` prints to stdout in the only container of `pod`.

    Raises Refusal where it is not allowed, or fails, and Outage where the connection is lost.
    """
    try:
        import httpx2
        from httpx2.websockets import HTTPXWSException, WebSocketUpgradeError
    except ImportError as error:
        raise UsageError(
            "fetching from pods needs a WebSocket client; pip install 'tare-hpc[kubernetes]'"
        ) from error
    query = [("command", word) for word in command] + [("stdout", "true"), ("stderr", "true")]
    cluster.n_requests += 1
    _LOG.info("command in a pod", extra=fields(pod=pod, argv=command))
    http = cluster.http
    try:
        with http.websocket(
            cluster.exec_path(pod),
            params=tuple(query),
            subprotocols=[_PROTOCOL],
            max_message_size_bytes=_MOST_MESSAGE,
            queue_size=_QUEUE,
        ) as session:
            yield from _read(lambda: session.receive_bytes(_SILENT_S))
    except WebSocketUpgradeError as error:
        raise cluster.upgrade_fault(http, error.response.status_code, f"'exec' in {pod}") from error
    except TimeoutError as error:
        raise Outage(f"nothing came from {pod} for {_SILENT_S:g} s") from error
    except (HTTPXWSException, httpx2.HTTPError, httpx2.StreamError) as error:
        raise Outage(f"the connection to {pod} was lost: {type(error).__name__} {error}") from error


def _read(receive: Callable[[], bytes]) -> Iterator[bytes]:
    stderr = b""
    while True:
        message = receive()
        channel, data = message[:1], message[1:]
        if channel == bytes([_STDOUT]) and data:
            yield data
        elif channel == bytes([_STDERR]):
            stderr = (stderr + data)[-_MOST_STDERR:]
        elif channel == bytes([_ERROR]):
            _check(data, stderr)
            return


def _check(data: bytes, stderr: bytes) -> None:
    """Raise Refusal if a command's status, in JSON (meta/v1, Status), is not success."""
    try:
        status = msgspec.json.decode(data, type=_Status)
    except NOT_JSON:
        status = _Status(message=data[:200].decode(errors="replace"))
    if status.status != "Success":
        said = " ".join(stderr.decode(errors="replace").split())
        raise Refusal(0, f"{status.message}{f': {said}' if said else ''}")
