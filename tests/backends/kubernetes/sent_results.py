"""What pods print: the results that send_results.sh sends, and the facts that probe.sh collects."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile


def packed(files: dict[str, str]) -> bytes:
    """Return the log of a pod that sends `files`, as send_results.sh writes it."""
    every = {name: text.encode() for name, text in files.items()}
    return b"words\n" + sent_lines(listed(every), tarred(every))


def tarred(files: dict[str, bytes]) -> bytes:
    """Return an archive of files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def piece(name: str, offset: int, data: bytes) -> bytes:
    """Return the line by which send_results.sh carries part of a file that grows."""
    return f"\x1etare piece {name} {offset} {base64.b64encode(gzip.compress(data)).decode()}\n".encode()


def listed(files: dict[str, bytes], *, has_sums: bool = True) -> bytes:
    """Return the list of files that send_results.sh makes, packed."""
    sizes = b"".join(f"{len(data)} ./{name}\0".encode() for name, data in files.items())
    sums = (f"{hashlib.sha256(data).hexdigest()}  ./{name}\0".encode() for name, data in files.items())
    return gzip.compress(sizes + b"\0" + (b"".join(sums) if has_sums else b""))


def sent_lines(manifest: bytes, archive: bytes, waits: str = "no") -> bytes:
    """Return the lines by which send_results.sh carries a list and an archive of files, and their end."""
    lines = [
        f"\x1etare part {name} {at} {base64.b64encode(data[at : at + 9000]).decode()}\n"
        for name, data in (("manifest", manifest), ("archive", archive))
        for at in range(0, len(data), 9000)
    ]
    sums = " ".join(f"{len(data)} {hashlib.sha256(data).hexdigest()}" for data in (manifest, archive))
    return "".join([*lines, f"\x1etare end {waits} {sums}\n"]).encode()


def probe(node: str, ranks: dict[int, str] | None = None, files: dict[str, str] | None = None) -> str:
    """Return what probe.sh prints in a pod of `node`: by default with no ranks."""
    texts = {"node": node, "/proc/net/dev": "h\nh\n eth0: 1 1 0 0 0 0 0 0 1 1\n", **(files or {})}
    lines = "".join(f"{rank} {where}\n" for rank, where in (ranks or {}).items())
    return "".join(f"\x1e{path}\x1e{text}" for path, text in (texts | {"ranks": lines}).items())
