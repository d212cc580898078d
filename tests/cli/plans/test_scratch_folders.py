"""Where a site cannot be tried because nothing can be written, that is said, and nothing is left."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tare.app.scratch_folders import scratch_folder
from tare.cli import main
from tare.core.errors import InfrastructureError


def test_a_folder_that_takes_none_is_named_with_the_cure(tmp_path: Path) -> None:
    with (
        pytest.raises(InfrastructureError, match=r"none: cannot write: .*; the site is tried in a folder"),
        scratch_folder(tmp_path / "none"),
    ):
        pass


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_file_system_that_takes_no_files_is_no_defect(tmp_path: Path, number: int) -> None:
    with pytest.raises(InfrastructureError, match=os.strerror(number)), scratch_folder(tmp_path):
        raise OSError(number, os.strerror(number))
    assert not list(tmp_path.iterdir())


def test_another_error_is_not_called_one_of_the_file_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), scratch_folder(tmp_path) as folder:
        (folder / "lost").read_text()


def test_a_full_disk_is_no_defect_though_nobody_says_which_file_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as write(2) does: without a name

    monkeypatch.setattr(main, "make_group", fail)
    with pytest.raises(SystemExit) as ended:
        main.main(["status"])
    assert ended.value.code == 3
    assert capsys.readouterr().err == "tare: a file cannot be read or written: No space left on device\n"
