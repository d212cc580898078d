"""The exact command line of each launcher in each situation, reviewed as diffs of goldens/*.txt.

Write them anew with: UPDATE_GOLDENS=1 pytest tests/launchers
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launchers.situations import LAUNCHERS, PROGRAM, SITUATIONS
from tare.core.errors import UsageError
from tare.core.launch import Invocation
from tare.plugins import registry

GOLDENS = Path(__file__).with_name("goldens")


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_command_is_the_golden_one(name: str, situation: str) -> None:
    try:
        text = as_text(registry.launcher(name).launch(PROGRAM, SITUATIONS[situation]))
    except UsageError as error:
        text = f"refused: {error}\n"
    golden = GOLDENS / f"{name}-{situation}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_every_golden_is_of_a_launcher_and_a_situation() -> None:
    expected = {f"{name}-{situation}.txt" for name in LAUNCHERS for situation in SITUATIONS}
    assert {path.name for path in GOLDENS.iterdir()} == expected


def as_text(invocation: Invocation) -> str:
    """Return the environment and the words of a command, one a line."""
    env = (f"{name}={value}" for name, value in sorted(invocation.env.items()))
    return "\n".join([*env, "", *invocation.argv]) + "\n"
