"""Fetch files from a pod that its log does not have: by ``exec``, packed, from the first missing byte on.

The API's ``exec`` is a WebSocket (v4.channel.k8s.io). The client is httpx2, with the cluster's certificates
and tokens; lightkube has no ``exec`` itself.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tare.core import log
from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, UsageError
from tare.core.log import fields
from tare.plugins.backends.kubernetes.api.cluster import Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.options import RUN, WORK
from tare.plugins.backends.kubernetes.transfer.receiving import MissingPart, Receiver

_LOG = log.of("kubernetes")

_PROTOCOL = "v4.channel.k8s.io"
_STDOUT, _STDERR, _ERROR = 1, 2, 3
_MOST_MESSAGE = 16 * 1024 * 1024
_QUEUE = 32  # messages that wait to be read; the kubelet's have 32 KiB
_SILENT_S = 60.0
_MOST_STDERR = 2000
_PIECE = 64 * 1024 * 1024
_MOST_AT_ONCE = 4 * 1024 * 1024
_TRIES = 3
_RETRY_S = 2.0
_SCRIPT = 'tail -c "+$1" -- "$2" | head -c "$3" | gzip -1'
_GZIP = 31  # wbits of zlib for RFC 1952


def fetch(
    cluster: Cluster,
    pod: str,
    receiver: Receiver,
    is_ended: Callable[[], bool],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Fetch all files that `receiver` lacks, until `is_ended` or until no more data arrives.

    Raises Refusal if the cluster refuses, or the command in the pod fails. Raises Outage if no data arrives
    any more. Raises ValueError if the data never matches its checksum.
    """
    tries = 0
    while (lacks := receiver.lacks()) and not is_ended():
        before = receiver.n_received
        try:
            for one in lacks:
                _fetch_one(cluster, pod, receiver, one, is_ended)
        except Outage as outage:
            wait_s = outage.retry_after_s
            if receiver.n_received == before:
                tries += 1
                if tries >= _TRIES:
                    raise
                wait_s = max(wait_s, _RETRY_S * tries)
            sleep(wait_s)
            continue
        tries += 1
        if tries >= _TRIES and (left := receiver.lacks()):
            raise ValueError(f"{left[0].name} changes while it is fetched: something still writes it")


def _fetch_one(
    cluster: Cluster, pod: str, receiver: Receiver, lack: MissingPart, is_ended: Callable[[], bool]
) -> None:
    """Fetch one file, piece by piece."""
    path = f"{RUN if lack.is_own else WORK}/{lack.name}"
    if not path.isprintable() or not _is_text(path):
        raise Refusal(0, f"{lack.name!r} is no name that 'exec' can ask for")
    put = receiver.append_own if lack.is_own else receiver.append
    at = lack.n_there
    while at < lack.whole.n_bytes and not is_ended():
        length = min(_PIECE, lack.whole.n_bytes - at)
        came = 0
        command = ["sh", "-c", _SCRIPT, "fetch", str(at + 1), path, str(length)]
        unpacking = zlib.decompressobj(_GZIP)
        for packed in _execute(cluster, pod, receiver.role, command):
            while packed and came < length:
                data = _unpack(unpacking, packed, min(_MOST_AT_ONCE, length - came))
                packed = unpacking.unconsumed_tail  # the part that is not unpacked yet
                if data and not put(lack.name, at + came, data):
                    raise ValueError(f"{lack.name} cannot be taken in")
                came += len(data)
        if came < length:
            return  # the file has become shorter: its checksum will be wrong
        at += came


def _unpack(unpacking: zlib._Decompress, packed: bytes, most: int) -> bytes:
    try:
        return unpacking.decompress(packed, most)
    except zlib.error as error:
        raise ValueError(f"what came is damaged: {error}") from error


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Status(msgspec.Struct, frozen=True):
    status: str = ""
    message: str = ""


def _execute(cluster: Cluster, pod: str, container: str, command: Sequence[str]) -> Iterator[bytes]:
    """Yield what `command` prints to stdout in a container of `pod`.

    Raises Refusal where it is not allowed, or fails, and Outage where the connection is lost.
    """
    try:
        import httpx2
        from httpx2.websockets import HTTPXWSException, WebSocketUpgradeError
    except ImportError as error:
        raise UsageError(
            "fetching from pods needs a WebSocket client; pip install 'tare-hpc[kubernetes]'"
        ) from error
    query = [("command", word) for word in command]
    query += [("container", container), ("stdout", "true"), ("stderr", "true")]
    _LOG.info("command in a pod", extra=fields(pod=pod, argv=command))
    http = cluster.connection.http
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
        raise cluster.connection.upgrade_fault(http, error.response, f"'exec' in {pod}") from error
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
        status = decode_json(data, type=_Status)
    except NOT_JSON:
        status = _Status(message=data[:200].decode(errors="replace"))
    if status.status != "Success":
        message = " ".join(stderr.decode(errors="replace").split())
        raise Refusal(0, f"{status.message}: {message}" if message else status.message)
