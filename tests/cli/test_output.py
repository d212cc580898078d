"""What a terminal is shown, and what it is not."""

from __future__ import annotations

import io
import sys

import pytest

from tare.cli.main import make_group
from tare.terminal.output import at_work


class Terminal(io.StringIO):
    """Stands for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("refusal", "is_plain"), [(None, False), ("1", True)])
def test_no_command_colours_anything_where_the_user_wants_none(
    monkeypatch: pytest.MonkeyPatch, refusal: str | None, is_plain: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if refusal:
        monkeypatch.setenv("NO_COLOR", refusal)
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    make_group().main(["workloads", "imb.pingpong"], standalone_mode=False)
    assert "imb.pingpong" in shown.getvalue()
    assert ("\x1b[" not in shown.getvalue()) == is_plain


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_that_something_goes_on_is_shown_at_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    with at_work("writing the report"):
        pass
    assert ("writing the report" in stream.getvalue()) == stream.isatty()
