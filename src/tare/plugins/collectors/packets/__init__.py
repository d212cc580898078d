"""Packet sizes: the counter program that runs on the nodes, and the parser of its output."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection
from pathlib import Path

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, CampaignError
from tare.core.packets import STORED, Counted
from tare.core.safe_folder import SafeFolder

_RAW = "packets.*.txt"
_CUT = "the counter did not live to the end of the run; this is what it had counted"
_REFUSED = "only who has CAP_NET_RAW sees packets (capabilities(7))"


class _Line(msgspec.Struct, frozen=True):
    """One line of a counter's output (see node)."""

    counted: Counted = Counted()
    is_over: bool = False
    is_refused: bool = False


def program() -> str:
    """Return the counter program.

    It needs only Python 3.6's standard library, and takes an interface's name.
    """
    return Path(__file__).with_name("node.py").read_text(encoding="utf-8")


def command(interface: str) -> str:
    """Return the shell command that runs the program on `interface`."""
    return f"exec python3 -I -S -c {shlex.quote(program())} {shlex.quote(interface)}"


def read_counts(text: str, cure: str = "") -> Counted:
    """Return the last counts in a counter's output.

    If the counts are incomplete, their `fault` has the reason, and `cure` if the counter lacked the
    permission.
    """
    for line in reversed(text.splitlines()):
        with contextlib.suppress(*NOT_JSON):
            report = decode_json(line.encode(), type=_Line)
            if report.is_refused:
                return Counted(fault=f"{_REFUSED}: {cure}" if cure else _REFUSED)
            return report.counted if report.is_over else msgspec.structs.replace(report.counted, fault=_CUT)
    return Counted(fault=text.strip()[-200:] or "the counter printed nothing; is there a python3?")


def gather(folder: Path, hosts: Collection[str], cure: str) -> None:
    """Store in an attempt's folder what the counters of a batch system's `hosts` wrote there.

    Each counter wrote a file ``packets.HOST.txt``. With two counters on a host, the second file is
    ``packets.HOST+NAME.txt``.
    """
    found: dict[str, Counted] = {}
    for one in sorted(SafeFolder(folder).files(_RAW), key=lambda one: one.path.stem):
        host, _, second = one.path.stem.removeprefix("packets.").partition("+")
        name = f"{host}/{second}" if host in found else host
        found[name] = read_counts(one.read().decode(errors="replace"), cure)
        one.remove()
    for host in hosts:
        if host.partition("/")[0] not in found:
            found[host] = Counted(fault="its counter reported nothing")
    if found:
        store(folder, found)


def store(folder: Path, counted: dict[str, Counted]) -> None:
    """Store the counts of all hosts in an attempt's folder."""
    with CampaignError.for_files(folder):
        SafeFolder(folder, STORED).replace(msgspec.json.encode(counted, order="sorted"), is_synced=False)
