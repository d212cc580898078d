"""Bring home what a task made: its record and its files, which are in the log of the pod that ran it."""

from __future__ import annotations

import base64
import binascii
import io
import tarfile
import zlib
from pathlib import Path

from tare.backends.kubernetes.naming import SERVER

_BEGIN, _END = b"-----BEGIN TARE-----\n", b"-----END TARE-----"
_COUNTERS = frozenset({"./before.0", "./after.0"})
_RECORDS = ("progress", "landed")


def bring_home(log: bytes, folder: Path, role: str) -> bytes:
    """Unpack into `folder` what the `log` of a pod carries, its record last; return the rest of the log.

    Of a server only its counters and telemetry are taken: outputs and record are the client's. Nothing is
    unpacked from a log that was cut: its record is then missing, which says so.
    """
    before, begin, rest = log.rpartition(_BEGIN)
    packed, end, after = rest.partition(_END)
    if not begin or not end:
        return log
    try:
        data = base64.b64decode(packed)
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            members = [one for one in archive.getmembers() if one.isfile() or one.isdir()]
            if role == SERVER:
                members = [_as_server(one) for one in members if _is_of_server(one.name)]
            members.sort(key=lambda one: Path(one.name).name in _RECORDS)
            for member in members:
                archive.extract(member, folder, filter="data")
    except (binascii.Error, tarfile.TarError, zlib.error, EOFError, OSError):
        return log
    return before + after


def _is_of_server(name: str) -> bool:
    return name in {*_COUNTERS, "./server.out"} or name.startswith(("./telemetry.", "./packets."))


def _as_server(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return a file of the server under a name that the client's own does not take."""
    name = member.name
    if name in _COUNTERS:
        name = name.replace(".0", ".server")
    elif name.startswith("./packets."):  # both pods may be on one node (see collectors.packets.gather)
        name = name.removesuffix(".txt") + "+server.txt"
    return member.replace(name=name, deep=False)


def keep_message(message: str, folder: Path) -> None:
    """Keep the record that the pod left as its termination message, where its log brought none."""
    if message.startswith("began ") and not (folder / "landed").exists():
        (folder / "landed").write_text(message)
