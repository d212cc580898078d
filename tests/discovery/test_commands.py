"""Commands that finders run: they end, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.app.init import survey
from tare.discovery.commands import OwnCommands


def test_a_command_that_does_not_answer_ends_with_all_that_it_started(tmp_path: Path) -> None:
    """What it started holds its output open, so that waiting for its end would take as long."""
    late = tmp_path / "late"
    script = f'(sleep 20; echo >"{late}") & echo $! >"{tmp_path}/pid"; wait'
    done = OwnCommands().run(["sh", "-c", script], timeout_s=1)
    assert done is not None
    assert (done.code, done.err) == (124, "sh did not answer within 1 s")
    assert not late.exists()
    pid = (tmp_path / "pid").read_text().strip()
    command = Path(f"/proc/{pid}/cmdline")
    assert not command.exists() or not command.read_bytes()  # a zombie has none


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of OpenShift run as a user that /etc/passwd does not have."""

    def unnamed() -> str:
        raise KeyError("getpwuid(): uid not found: 1000660000")

    monkeypatch.setattr("getpass.getuser", unnamed)
    assert survey._user().isdigit()
