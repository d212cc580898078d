"""A file that a user names for results is written as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from tare.core.user_files import replacing


def test_what_fails_on_the_way_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    """A full disk left an empty file in the place of last night's results."""
    path = tmp_path / "rows.csv"
    path.write_text("last night")

    def fill_the_disk() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        fill_the_disk()
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]
    assert path.read_text() == "last night"


def test_a_file_keeps_its_rights_and_the_link_that_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "real.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to("real.csv")
    with replacing(tmp_path / "link.csv") as file:
        file.write(b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real.csv").stat().st_mode) == 0o640


def test_a_new_file_has_the_rights_that_its_user_gives_to_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "new.csv") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640


def test_a_pipe_and_a_device_are_written_directly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        for path in (tmp_path / "pipe", Path("/dev/null")):
            with replacing(path) as file:
                file.write(b"rows")
        assert os.read(reading, 10) == b"rows"
    finally:
        os.close(reading)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
