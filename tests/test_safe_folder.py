"""Nothing outside a folder is read or written through it, and nothing in it is waited for."""

from __future__ import annotations

import errno
import gzip
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tare.core.safe_folder import SafeFolder

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "id_ed25519"
    path.write_text(SECRET)
    return path


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    path = tmp_path / "campaign"
    path.mkdir()
    return path


@pytest.mark.parametrize(
    "name", ["..", "../id_ed25519", "a/../../id_ed25519", "/etc/passwd", "", "a//b", "a\0"]
)
def test_a_name_that_leads_out_is_refused(root: Path, name: str) -> None:
    with pytest.raises(OSError, match="leads out"):
        SafeFolder(root, name)


def test_a_link_is_not_read(root: Path, outside: Path) -> None:
    (root / "stdout").symlink_to(outside)
    with pytest.raises(OSError, match="a symbolic link, which is not followed") as caught:
        SafeFolder(root, "stdout").read()
    assert caught.value.filename == str(root / "stdout")
    assert SafeFolder(root).files() == []


def test_a_link_on_the_way_is_not_followed(root: Path, outside: Path) -> None:
    (root / "attempts").symlink_to(outside.parent)
    place = SafeFolder(root, "attempts", "id_ed25519")
    with pytest.raises(OSError, match="a symbolic link"):
        place.read()
    with pytest.raises(OSError, match="a symbolic link"):
        place.replace(b"")
    with pytest.raises(OSError, match="a symbolic link"):
        (place / "new").make_folder()
    assert (place.exists(), SafeFolder(root, "attempts").files()) == (False, [])
    assert outside.read_text() == SECRET


def test_a_link_is_replaced_and_what_it_leads_to_stays(root: Path, outside: Path) -> None:
    (root / "index.html").symlink_to(outside)
    SafeFolder(root, "index.html").replace(b"page")
    assert outside.read_text() == SECRET
    assert (root / "index.html").read_text() == "page"
    assert not (root / "index.html").is_symlink()


def test_a_link_is_removed_and_what_it_leads_to_stays(root: Path, outside: Path) -> None:
    (root / "log").symlink_to(outside)
    SafeFolder(root, "log").remove()
    SafeFolder(root, "log").remove()
    assert outside.exists()
    assert not (root / "log").is_symlink()


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device", "a folder"])
def test_what_is_no_file_is_not_waited_for(root: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "journal.jsonl"
    monkeypatch.chdir(root)  # names of sockets are short
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "a socket":
            socket.socket(socket.AF_UNIX).bind("journal.jsonl")
        case "a device":
            try:
                os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
            except PermissionError:
                pytest.skip("only root makes devices")
        case _:
            path.mkdir()
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(OSError, match=f"{kind}, not a file"):
            SafeFolder(root, "journal.jsonl").open(flags)
    assert not SafeFolder(root, "journal.jsonl").is_file()


def test_a_file_above_the_limit_is_not_read(root: Path) -> None:
    (root / "plan.json").write_bytes(b"x" * 1025)
    assert len(SafeFolder(root, "plan.json").read(1025)) == 1025
    with pytest.raises(OSError, match="more than the 1 KiB that are read of such a file") as caught:
        SafeFolder(root, "plan.json").read(1024)
    assert caught.value.errno == errno.EFBIG


def test_what_unpacks_to_more_than_the_limit_is_not_held(root: Path) -> None:
    (root / "bomb.gz").write_bytes(gzip.compress(bytes(50_000_000)))
    with pytest.raises(OSError, match="more than the 1 MiB"):
        SafeFolder(root, "bomb.gz").unpack(1024 * 1024)


@pytest.mark.parametrize(
    "data", [b"", b"not packed", gzip.compress(b"whole" * 100)[:-9]], ids=["empty", "not packed", "cut short"]
)
def test_what_does_not_unpack_is_reported(root: Path, data: bytes) -> None:
    (root / "t.gz").write_bytes(data)
    if data:
        with pytest.raises(OSError, match="damaged"):
            SafeFolder(root, "t.gz").unpack()
    else:
        assert SafeFolder(root, "t.gz").unpack() == b""


def test_zeros_behind_what_is_packed_cost_nothing(root: Path) -> None:
    """They take no disk, so that gigabytes come in a small archive. Read one by one, they took minutes."""
    (root / "t.gz").write_bytes(gzip.compress(b"whole") + bytes(1_000_000))
    assert SafeFolder(root, "t.gz").unpack() == b"whole"
    os.truncate(root / "t.gz", 10**12)
    with pytest.raises(OSError, match="more than the 256 MiB"):
        SafeFolder(root, "t.gz").unpack()


def test_packed_files_in_a_row_unpack_whole(root: Path) -> None:
    (root / "t.gz").write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    assert SafeFolder(root, "t.gz").unpack() == b"one two"


def test_a_file_is_replaced_whole_and_leaves_no_draft(root: Path) -> None:
    place = SafeFolder(root, "a/b", "c.json")
    place.replace(b"1")
    place.replace(b"22")
    assert place.read() == b"22"
    assert [one.name for one in (root / "a/b").iterdir()] == ["c.json"]


def test_a_file_has_the_rights_that_its_user_gives_to_files(root: Path) -> None:
    before = os.umask(0o027)
    try:
        SafeFolder(root, "plan.json").replace(b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "plan.json").stat().st_mode) == 0o640


def test_a_write_that_fails_leaves_the_old_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = SafeFolder(root, "plan.json")
    place.replace(b"old")

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        place.replace(b"new")
    assert [one.name for one in root.iterdir()] == ["plan.json"]
    assert place.read() == b"old"


def test_a_file_of_any_name_that_a_file_may_have_is_replaced(root: Path) -> None:
    """The draft's name is no longer than a name may be, in bytes."""
    for name in ("x" * 255, "é" * 127, "\U0001f600" * 63):
        SafeFolder(root, name).replace(b"1")
        assert SafeFolder(root, name).read() == b"1"


def test_hundreds_of_folders_within_each_other_are_made(root: Path) -> None:
    place = SafeFolder(root, *["a"] * 400, "file")
    place.replace(b"1")
    assert place.read() == b"1"


def test_a_link_that_cannot_be_made_leaves_the_old_file(root: Path, outside: Path) -> None:
    SafeFolder(root, "raw").replace(b"old")
    with pytest.raises(OSError, match="No such file") as caught:
        SafeFolder(root, "raw").link(outside.parent / "missing")
    assert caught.value.filename == str(root / "raw")
    assert [one.name for one in root.iterdir()] == ["raw"]
    assert SafeFolder(root, "raw").read() == b"old"


def test_a_link_replaces_what_another_maker_linked_meanwhile(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def after_another(source: Path, name: str, **options: Any) -> None:
        monkeypatch.setattr(os, "link", link)
        SafeFolder(root, "raw").link(outside)
        link(source, name, **options)

    monkeypatch.setattr(os, "link", after_another)
    SafeFolder(root, "raw").link(outside)
    assert [one.name for one in root.iterdir()] == ["raw"]
    assert (root / "raw").samefile(outside)


def test_what_has_no_size_is_read_whole_and_within_the_limit() -> None:
    """The status of a file in /proc says 0 bytes."""
    assert SafeFolder(Path("/proc/self"), "status").read().startswith(b"Name:")
    assert len(SafeFolder(Path("/proc/self"), "cmdline").read()) > 1
    with pytest.raises(OSError, match="more than") as caught:
        SafeFolder(Path("/proc/self"), "status").read(limit=100)
    assert caught.value.errno == errno.EFBIG


def test_a_file_that_the_disk_does_not_give_is_named() -> None:
    """Nothing is mapped at address 0, so a read of /proc/self/mem there gives EIO."""
    memory = SafeFolder(Path("/proc/self"), "mem")
    for read in (memory.read, memory.unpack, lambda: list(memory.lines())):
        with pytest.raises(OSError, match="Input/output error") as caught:
            read()
        assert caught.value.filename == "/proc/self/mem"


def test_a_fresh_folder_is_made_once(root: Path) -> None:
    SafeFolder(root, "attempts/c/1.1").make_folder(is_fresh=True)
    with pytest.raises(FileExistsError):
        SafeFolder(root, "attempts/c/1.1").make_folder(is_fresh=True)
    SafeFolder(root, "attempts/c/1.1").make_folder()


def test_the_folder_itself_may_be_a_link_since_its_user_named_it(root: Path, tmp_path: Path) -> None:
    (root / "plan.json").write_text("{}")
    (tmp_path / "link").symlink_to(root)
    assert SafeFolder(tmp_path / "link", "plan.json").read() == b"{}"


def test_no_descriptor_stays_open(root: Path, outside: Path) -> None:
    (root / "link").symlink_to(outside)
    (root / "file").write_text("x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        SafeFolder(root, "file").read()
        SafeFolder(root, "new/file").replace(b"")
        assert not SafeFolder(root, "link/deeper").is_file()
        with pytest.raises(OSError, match="link"):
            SafeFolder(root, "link").open()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_folder_that_is_kept_open_is_reached_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        SafeFolder(root, f"a/b/c/{name}").replace(name.encode())
    opened: list[object] = []
    real = os.open

    def counted(path: str, *rest: Any, **options: Any) -> int:
        opened.append(path)
        return real(path, *rest, **options)

    with SafeFolder(root, "a/b/c").kept_open() as kept:
        monkeypatch.setattr(os, "open", counted)
        assert [one.read() for one in kept.files()] == [b"one", b"two"]
    assert not {"a", "b", "c", root} & set(opened)


def test_a_folder_that_is_kept_open_is_the_same_when_its_name_leads_elsewhere(
    root: Path, outside: Path
) -> None:
    SafeFolder(root, "run/output").replace(b"its own")
    with SafeFolder(root, "run").kept_open() as kept:
        (root / "run").rename(root / "moved")
        (root / "run").symlink_to(outside.parent)
        assert (kept / "output").read() == b"its own"
        (kept / "sums").replace(b"new")
        with pytest.raises(OSError, match="link"):
            (SafeFolder(root, "run") / outside.name).read()
    assert (root / "moved/sums").read_bytes() == b"new"


def test_below_a_folder_that_is_kept_open_no_link_is_followed(root: Path, outside: Path) -> None:
    (root / "run").mkdir()
    (root / "run/link").symlink_to(outside)
    (root / "run/folder").symlink_to(outside.parent)
    with SafeFolder(root, "run").kept_open() as kept:
        for name in ("link", f"folder/{outside.name}"):
            with pytest.raises(OSError, match="link"):
                (kept / name).read()
        assert kept.files_and_folders() == ([], [])


@pytest.mark.parametrize("act", ["make_folder", "create", "remove", "rename", "link"])
def test_an_error_names_the_path_from_the_root(root: Path, act: str) -> None:
    (root / "inner" / "taken").mkdir(parents=True)
    (root / "inner" / "file").write_text("")
    inner = SafeFolder(root, "inner")
    actions: dict[str, Callable[[], object]] = {
        "make_folder": (inner / ("n" * 300)).make_folder,
        "create": (inner / "taken").create,
        "remove": (inner / "taken").remove,
        "rename": lambda: (inner / "file").rename("taken"),
        "link": lambda: (inner / "taken").link(root / "inner" / "file"),
    }
    with pytest.raises(OSError, match=r"too long|a folder, not a file") as caught:
        actions[act]()
    assert caught.value.filename == str(root / "inner" / ("n" * 300 if act == "make_folder" else "taken"))
