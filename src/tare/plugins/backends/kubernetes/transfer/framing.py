"""Parse the results that a pod's log carries: lines of manifests/scripts/send_results.sh. Pure.

Each line begins with RS (0x1e) and ``tare``:

    piece NAME OFFSET DATA     part of a file that grew; it is packed by itself
    part NAME OFFSET DATA      part of the ``manifest`` or the ``archive``, which are packed as a whole
    end WAITS and the size and SHA-256 of both

`WAITS` says whether the pod stays until the files that its log lacks are fetched. A program may have forged
any of this, so all sizes have limits, also while data is unpacked.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from typing import NamedTuple

MARK = b"\x1etare "
MOST_LINE = 2 * 1024 * 1024
"""The longest line, in bytes; a longer one is not from send_results.sh."""
MANIFEST, ARCHIVE = "manifest", "archive"
_MOST_PIECE = 1024 * 1024  # bytes, unpacked; send_results.sh packs half of it
_MOST_MANIFEST = 64 * 1024 * 1024  # some 400,000 files
_MOST_OFFSET = 2**53
_NUMBER = re.compile(rb"[0-9]{1,16}")
_SHA256 = re.compile(rb"[0-9a-f]{64}")
_GZIP = 31  # wbits of zlib for RFC 1952


class Part(NamedTuple):
    """A part of a file, from an offset on; `is_own` says that it is of the packed manifest or archive."""

    name: str
    offset: int
    data: bytes
    is_own: bool = False


class Sum(NamedTuple):
    """The size of a file and its SHA-256; None where only the size is known."""

    n_bytes: int
    sha256: str | None


class End(NamedTuple):
    """The end of the results: size and checksum of manifest and archive, and whether the pod waits.

    `is_lost` says that not all files of the ranks' pod could be copied into this pod.
    """

    waits: bool
    manifest: Sum
    archive: Sum
    is_lost: bool = False


def parse(line: bytes) -> Part | End | None:
    """Return the content of a line of the log; None for other text, and for damaged lines."""
    _, mark, rest = line.partition(MARK)
    if not mark or len(line) > MOST_LINE:
        return None
    match rest.split():
        case [b"piece", name, offset, packed]:
            at, data = _number(offset), _unpacked(packed)
            return None if at is None or data is None else Part(_name(name), at, data)
        case [b"part", (b"manifest" | b"archive") as name, offset, encoded]:
            at, data = _number(offset), _decoded(encoded)
            return None if at is None or data is None else Part(_name(name), at, data, is_own=True)
        case [b"end", (b"yes" | b"no" | b"lost") as waits, n_manifest, manifest, n_archive, archive]:
            sums = _sum(n_manifest, manifest), _sum(n_archive, archive)
            if sums[0] is None or sums[1] is None:
                return None
            return End(waits == b"yes", sums[0], sums[1], is_lost=waits == b"lost")
    return None


def parse_manifest(packed: bytes) -> dict[str, Sum]:
    """Return the requested files, by their path in the working folder.

    Raises ValueError where the manifest is damaged.
    """
    unpacking = zlib.decompressobj(_GZIP)
    try:
        data = unpacking.decompress(packed, _MOST_MANIFEST)
    except zlib.error as error:
        raise ValueError(f"its list of files is damaged: {error}") from error
    if not unpacking.eof:
        raise ValueError("its list of files is cut, or too long")
    sizes, _, sums = data.partition(b"\0\0")
    known = {name: found for one in sums.split(b"\0") for found, name in [_checksum(one)]}
    files = {}
    for one in sizes.split(b"\0"):
        size, _, name = one.partition(b" ./")
        if name and (n_bytes := _number(size)) is not None:
            files[_name(name)] = Sum(n_bytes, known.get(name))
    return files


def _checksum(line: bytes) -> tuple[str | None, bytes]:
    sha256, _, name = line.partition(b" ")
    return sha256.decode() if _SHA256.fullmatch(sha256) else None, name[1:].removeprefix(b"./")


def _sum(size: bytes, sha256: bytes) -> Sum | None:
    n_bytes = _number(size)
    if n_bytes is None or not _SHA256.fullmatch(sha256):
        return None
    return Sum(n_bytes, sha256.decode())


def _number(text: bytes) -> int | None:
    found = int(text) if _NUMBER.fullmatch(text) else None
    return found if found is not None and found <= _MOST_OFFSET else None


def _name(name: bytes) -> str:
    return name.decode(errors="surrogateescape")


def _decoded(encoded: bytes) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return None


def _unpacked(encoded: bytes) -> bytes | None:
    packed = _decoded(encoded)
    if packed is None:
        return None
    unpacking = zlib.decompressobj(_GZIP)
    try:
        data = unpacking.decompress(packed, _MOST_PIECE)
    except zlib.error:
        return None
    return data if unpacking.eof else None  # zlib has checked the CRC-32 of RFC 1952 then
