"""Packet sizes: a counter that goes to the nodes of a run, and what it answers."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from tare.errors import CampaignError
from tare.model.packets import STORED, Counted


def program(interface: str) -> str:
    """Return the program that counts on `interface`, of Python 3.6 and its standard library."""
    text = Path(__file__).with_name("node.py").read_text(encoding="utf-8")
    return f"{text}\n\nrun({interface!r})\n"


def command(interface: str) -> str:
    """Return the shell command that runs it."""
    return f"exec python3 -I -S -c {shlex.quote(program(interface))}"


def read_answer(text: str) -> Counted:
    """Return what a counter said last, or why there is nothing."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    try:
        return msgspec.json.decode(lines[-1].encode(), type=Counted)
    except (IndexError, msgspec.DecodeError):
        return Counted(fault=text.strip()[-200:] or "the counter said nothing; is there a python3?")


def store(folder: Path, counted: dict[str, Counted]) -> None:
    """Keep what hosts counted in an attempt's folder."""
    try:
        (folder / STORED).write_bytes(msgspec.json.encode(counted, order="sorted"))
    except OSError as error:
        raise CampaignError.from_os(folder, error) from error
