"""Commands that finders run: they end, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.app.init import survey
from tare.discovery.commands import Output, OwnCommands
from tare.plugins.backends.hosts import output


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


def test_a_command_that_takes_long_is_said_and_loses_nothing() -> None:
    said: list[str] = []
    commands = OwnCommands(say=said.append, patience_s=0.2)
    done = commands.run(["sh", "-c", "echo one; sleep 1; echo two"])
    assert (done and done.out) == "one\ntwo\n"
    assert said == [
        "waits    sh -c echo one; sleep 1; echo two has not answered yet; it is given up after 60 s"
    ]
    OwnCommands(say=said.append).run(["true"])
    assert len(said) == 1


def test_of_a_long_message_the_beginning_and_the_end_are_told() -> None:
    """Slurm's commands say last why they gave up: of sinfo 22.05.8 on a host without slurm.conf."""
    lines = [
        "sinfo: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host",
        "sinfo: error: fetch_config: DNS SRV lookup failed",
        "sinfo: error: _establish_config_source: failed to fetch config",
        "sinfo: error: and so on, for as long as a message may be, and longer than anybody would read",
        "sinfo: fatal: Could not establish a configuration source",
    ]
    message = Output(1, "", "\n".join(lines)).message
    assert message.startswith(lines[0])
    assert message.endswith(lines[-1])
    assert len(message) <= 243
    assert Output(1, "", "down").message == "down"


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of OpenShift run as a user that /etc/passwd does not have."""

    def unnamed() -> str:
        raise KeyError("getpwuid(): uid not found: 1000660000")

    monkeypatch.setattr("getpass.getuser", unnamed)
    assert survey._user().isdigit()


def test_a_command_that_prints_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took all memory of the machine within a minute."""
    monkeypatch.setattr(output, "MOST_BYTES", 1 << 20)
    done = OwnCommands().run(["sh", "-c", "yes; yes"])
    assert done is not None
    assert (done.code, done.message) == (124, "it prints more than 1 MiB, and did not end")


@pytest.mark.parametrize(
    ("script", "message"),
    [("exit 3", "exit code 3"), ("kill -SEGV $$", "ended by SIGSEGV"), (":", "it prints nothing")],
)
def test_a_command_that_says_nothing_is_described(script: str, message: str) -> None:
    done = OwnCommands().run(["sh", "-c", script])
    assert (done and done.message) == message
