"""What a program may make up in the log of its pod: names that lead out, bombs, offsets, lists that lie."""

from __future__ import annotations

import base64
import gzip
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from backends.kubernetes.sent_results import listed, piece, sent_lines, tarred
from tare.plugins.backends.kubernetes.transfer.framing import parse, parse_manifest
from tare.plugins.backends.kubernetes.transfer.receiving import Receiver

MOST = 2**20


def receive(folder: Path, *lines: bytes, role: str = "launcher") -> Receiver:
    folder.mkdir(exist_ok=True)
    receiver = Receiver(folder, role, {"stdout"}, MOST)
    for line in b"".join(lines).splitlines(keepends=True):
        receiver.take(line)
    return receiver


def everything(root: Path) -> dict[str, bytes]:
    return {str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*") if one.is_file()}


@pytest.mark.parametrize("name", ["../out", "/tmp/tare-out", "a/../../out", "..", "a//b"])
def test_names_that_lead_out_write_nothing(tmp_path: Path, name: str) -> None:
    every = {name: b"x"}
    receiver = receive(tmp_path / "f", piece(name, 0, b"x"), sent_lines(listed(every), tarred(every)))
    assert [lack.name for lack in receiver.lacks()] == [name]
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("name", ["command.json", "pods.yaml"])
def test_what_tare_wrote_itself_is_no_programs_to_replace(tmp_path: Path, name: str) -> None:
    every = {name: b"forged"}
    assert receive(tmp_path / "f", sent_lines(listed(every), tarred(every))).lacks() == []
    assert everything(tmp_path) == {}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "d").symlink_to(tmp_path)
    every = {"d/out": b"x"}
    assert receive(tmp_path / "f", sent_lines(listed(every), tarred(every))).lacks() != []
    assert not (tmp_path / "out").exists()


def test_a_piece_that_unpacks_to_more_than_it_may_is_nothing() -> None:
    packed = base64.b64encode(gzip.compress(bytes(3 * 2**20)))
    assert parse(b"\x1etare piece stdout 0 " + packed + b"\n") is None


def test_an_archive_that_unpacks_to_more_than_is_allowed_is_refused(tmp_path: Path) -> None:
    receiver = receive(tmp_path / "f", sent_lines(listed({}), tarred({"bomb": bytes(64 * 2**20)})))
    with pytest.raises(ValueError, match="unpacks to more than 1 MiB"):
        receiver.lacks()
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, b"0"])
def test_a_name_or_header_of_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = kind, 2**33
    packed = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(64 * 2**20), 9)
    receiver = receive(tmp_path / "f", sent_lines(listed({}), packed))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="unpacks to more than 1 MiB"):
            receiver.lacks()
        assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    finally:
        tracemalloc.stop()


def test_a_list_that_unpacks_to_more_than_it_may_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        parse_manifest(gzip.compress(bytes(65 * 2**20)))


def test_no_more_is_written_of_a_stream_than_is_allowed(tmp_path: Path) -> None:
    receive(tmp_path / "f", *(piece("stdout", at, bytes(2**18)) for at in range(0, 2**22, 2**18)))
    assert (tmp_path / "f" / "stdout").stat().st_size <= MOST


@pytest.mark.parametrize("offset", ["-1", "1", "99999999999999999", "²", "1e3"])
def test_a_piece_for_another_place_than_the_end_is_nothing(tmp_path: Path, offset: str) -> None:
    receive(tmp_path / "f", piece("stdout", 0, b"x").replace(b" 0 ", f" {offset} ".encode()))
    assert everything(tmp_path) == {}


def test_a_server_cannot_pass_its_files_off_as_the_clients(tmp_path: Path) -> None:
    every = {"stdout": b"value: 9\n", "landed": b"began 1.0\n", "before.0": b"x"}
    receiver = receive(tmp_path / "f", sent_lines(listed(every), tarred(every)), role="server")
    assert receiver.lacks() == []
    receiver.keep_record()
    assert everything(tmp_path) == {"f/before.server": b"x"}
