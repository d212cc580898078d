"""What others ask, name or leave: queries of the live page, records of labs, seals, names of files."""

from __future__ import annotations

import atexit
import contextlib
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

import msgspec
from starlette.testclient import TestClient

from fuzzing.target import Target
from support.synthetic import make_campaign, write_campaign
from tare.config import site_from_text
from tare.core.safe_folder import SafeFolder
from tare.core.site import LabSpec
from tare.lab import state
from tare.lab.mpi import mpi_folder
from tare.lab.rootfs import rootfs_folder
from tare.live.access import Access
from tare.live.app import make_app
from tare.live.watch import Hub
from tare.storage import sealing
from tare.storage.trees import find_files, natural, printable

_SITE = """\
site: s
nodes: [n1]
platforms:
  bare: {launcher: mpich, prefix: "${TARE_MPI}/mpich"}
networks: {fabric: {interface: "${FABRIC}"}}
storage: {home: ~/x, image: "${TARE_ROOTFS}/debian"}
"""


def of_others() -> Iterator[Target]:
    """Yield the targets of what comes by a page's address, and lies in folders of labs, seals and trees."""
    run = "/c/demo/run/{case}/1.1"
    asked = ["/?x=1", "/c/demo?case=a&platform=b", f"/api{run}/log/stdout?from=0&before=9", f"{run}?x"]
    asked += ["/compare?c=demo", "/api/c/demo/runs?from=1&n=5&state=done&sort=-elapsed", "/metrics?c=demo"]
    yield Target("query", _query, tuple(one.encode() for one in asked), ())
    record = state.Record(
        name="a",
        spec=LabSpec(nodes=2, networks={}),
        is_owned=True,
        started_at=1.0,
        holder=state.ProcessIdentity.of(1),
        pids={"n1": 1},
    )
    yield Target("lab record", _lab, (msgspec.json.encode(record),), ())
    listed = b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  journal.jsonl\n"
    yield Target("seal", _seal, (listed, listed * 3))
    paths = (b"/opt/mpi\n/srv/rootfs\n/home/u\neth0", b"\n\n~\n${HOME}", b"/a\xff\n/b c\n/\x1b[31m\n")
    yield Target("variables", _variables, paths)
    yield Target("names of a tree", _tree, (b"run_2/host.log", b"\xff\xfe/a b\n.log", b"1" * 5000), ())


@cache
def _client() -> tuple[TestClient, str]:
    holder = tempfile.TemporaryDirectory(prefix="tare-fuzz-")
    atexit.register(holder.cleanup)
    folder = Path(holder.name, "demo")
    folder.mkdir()
    campaign = make_campaign()
    write_campaign(campaign, folder)
    client = TestClient(make_app(Hub([folder]), Access()), base_url="http://127.0.0.1")
    atexit.register(client.__enter__().__exit__, None, None, None)
    return client, campaign.plan.cases[0].id


def _query(data: bytes) -> None:
    """Ask for a page by any path and query; one that streams for ever is left out."""
    client, case = _client()
    asked = quote(data.replace(b"{case}", case.encode()).replace(b"events", b""), safe="/?&=%+;,.-_~")
    answer = client.get("/" + asked.lstrip("/")[:50_000])  # of which clients ask for no more
    if answer.status_code >= 500:
        raise ArithmeticError(f"{answer.status_code}: {answer.text[:200]}")


def _lab(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "lab.json").write_bytes(data)
        if (record := state.read(Path(folder))) is not None:
            state.is_stale(record)


def _variables(data: bytes) -> None:
    """Read a site that names variables, and folders that some tell, with a line of `data` as each value."""
    values = [os.fsdecode(one) for one in data.replace(b"\0", b"").split(b"\n")] + [""] * 4
    environment = dict(zip(("TARE_MPI", "TARE_ROOTFS", "HOME", "FABRIC"), values, strict=False))
    msgspec.json.encode(site_from_text(_SITE, "site.yaml", environment))
    mpi_folder(environment)
    rootfs_folder(environment)


def _seal(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = SafeFolder(Path(folder))
        Path(folder, "journal.jsonl").touch()
        (place / sealing.SEAL).replace(data, is_synced=False)
        sealing.broken(place)


def _tree(data: bytes) -> None:
    """Make files of these names, and find them."""
    with tempfile.TemporaryDirectory() as folder:
        for name in data.split(b"\n")[:20]:
            parts = [one[:255] for one in name.split(b"/") if one not in {b"", b".", b".."}][:4]
            with contextlib.suppress(OSError, ValueError):  # which no file system takes
                place = Path(folder, *map(os.fsdecode, parts))
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
        found, _ = find_files([Path(folder)])
        for one in found:
            printable(one).encode()
            natural(printable(one))
