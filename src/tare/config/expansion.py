"""Expand abbreviations of site files: ``${NAME}``, ``~`` and ranges of nodes such as ``n[1-4]``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tare.config.faults import shown

_VARIABLE = re.compile(r"\$\{([^}]*)\}?")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_NUMBERS = re.compile(r"([0-9]+)(?:-([0-9]+))?")

MOST_NODES = 100_000


def without_links(folder: str) -> str:
    """Return a folder of a root file system without symbolic links: runc(8) refuses one behind a link.

    One that does not begin with / is as it was written, and is a fault elsewhere.
    """
    return os.path.realpath(folder) if folder.startswith("/") else folder


def expand_environment(text: str, environment: Mapping[str, str]) -> str:
    """Return `text` with each ``${NAME}`` and a leading ``~`` replaced.

    Unless it is set, ``${TARE_MPI}`` is where the MPIs from PyPI are installed: share/tare/mpi beside Python.
    In the same way, ``${TARE_ROOTFS}`` is where root file systems of containers are: share/tare/rootfs.
    It has no symbolic links, since runc(8) refuses a root file system behind one.
    ``${TARE_LAB_DIR}`` is the folder of the lab that `tare lab up` builds, unless another one is entered.
    Raises ValueError with the cure where a variable is not set or is not text.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if not match[0].endswith("}") or not name.isidentifier():
            raise ValueError(f"{shown(match[0])} is not a variable; write ${{NAME}}")
        if name == "TARE_LAB_DIR":
            return _text_of(name, environment) or str(_lab_folder(environment))
        if name in ("TARE_MPI", "TARE_ROOTFS"):
            own = name.removeprefix("TARE_").lower()
            place = _text_of(name, environment) or str(Path(sys.prefix, "share", "tare", own))
            return without_links(place) if name == "TARE_ROOTFS" else place
        if name not in environment:
            raise ValueError(f"the environment variable {name} is not set; set it, or write its value here")
        return _text_of(name, environment)

    if text == "~" or text.startswith("~/"):
        text = (_text_of("HOME", environment) if "HOME" in environment else str(Path.home())) + text[1:]
    return _VARIABLE.sub(value, text)


def _lab_folder(environment: Mapping[str, str]) -> Path:
    """Return where the lab with the name ``lab`` keeps its files (see lab.state)."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK | os.X_OK):
        return Path(runtime, "tare", "lab")
    return Path(f"/tmp/tare-{os.getuid()}", "lab")  # noqa: S108  # lab.state checks who owns it


def _text_of(name: str, environment: Mapping[str, str]) -> str:
    """Return a variable's value, or "" where it is not set. Raises ValueError if it is not UTF-8.

    JSON could not store a value that is not UTF-8.
    """
    value = environment.get(name, "")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the environment variable {name} is not UTF-8; set it to text") from error
    return value


def expand_nodes(text: str) -> tuple[str, ...]:
    """Return the nodes of ``node[01-32,40]``: node01 … node32 and node40. Leading zeros are kept.

    Raises ValueError with the cure.
    """
    names = [text]
    while match := _RANGES.search(names[0]):
        numbers = tuple(_numbers(match[1], text))
        if len(names) * len(numbers) > MOST_NODES:
            raise ValueError(f"{shown(text)} stands for more than {MOST_NODES} nodes; name fewer")
        names = [_RANGES.sub(number, name, count=1) for name in names for number in numbers]
    if "[" in names[0] or "]" in names[0]:
        raise ValueError(f"{shown(text)} has an unmatched bracket; write a range such as n[1-4]")
    return tuple(names)


def _numbers(ranges: str, text: str) -> Iterator[str]:
    for one in ranges.split(","):
        match = _NUMBERS.fullmatch(one.strip())
        if match is None or len(one) > 40:
            raise ValueError(
                f"{shown(one)} in {shown(text)} is not a range; write for example n[1-4] or n[01-16,20]"
            )
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first):
            raise ValueError(f"{shown(one)} in {shown(text)} runs backwards; write {last}-{first}")
        if int(last) - int(first) >= MOST_NODES:
            raise ValueError(f"{shown(text)} stands for more than {MOST_NODES} nodes; name fewer")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
