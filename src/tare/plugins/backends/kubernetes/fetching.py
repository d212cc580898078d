"""Fetch files from a pod that its log does not have: by ``exec``, packed, from the first missing byte on."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

from tare.plugins.backends.kubernetes.cluster import Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.executing import execute
from tare.plugins.backends.kubernetes.options import RUN, WORK
from tare.plugins.backends.kubernetes.receiving import MissingPart, Receiver

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
        except Outage:
            if receiver.n_received == before:
                tries += 1
                if tries >= _TRIES:
                    raise
                sleep(_RETRY_S * tries)
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
        for packed in execute(cluster, pod, command):
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
