"""Define a source of facts: a shell script that queries a node, and a parser of its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

Records = Mapping[str, str]
"""The output of a node: the text of each record, by the path or name that the script gave it."""

Facts = dict[str, str]


class Source(msgspec.Struct, frozen=True):
    """One source of facts about a node.

    `script` runs in any POSIX shell. It can use ``files PATTERN…``, which records each readable file under
    its path; ``capture NAME COMMAND…``, which records what a command prints unless it fails; ``hide``, a
    filter for text that may hold secrets; and the variables of Subject. It leaves out what it cannot find.
    `read` turns the records of this source into facts. `order` is its position among the sources.
    """

    name: str
    script: str
    read: Callable[[Records], Facts]
    order: int = 500


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The campaign's programs on a node and the MPI that starts them, about which facts are collected.

    `prefix` is the folder where that MPI is installed, and `starter` the command that starts ranks; both are
    empty if there is none. Programs are searched first in `path`, and their libraries in `library_path`; both
    are lists of folders, separated by colons. `rootfs` is the root file system in which ranks run, empty if
    there is none.
    """

    prefix: str = ""
    starter: str = ""
    programs: tuple[str, ...] = ()
    path: str = ""
    library_path: str = ""
    rootfs: str = ""


def one_line(text: str) -> str:
    """Return `text` on one line."""
    return " ".join(text.replace("\0", " ").split())


def listed(records: Records, folder: str, name: str = "") -> dict[str, str]:
    """Return the one-line texts of ``folder/ITEM[/name]`` by ITEM, in the order of their names."""
    found = {}
    for path, text in sorted(records.items()):
        if path.startswith(folder) and path.endswith(name):
            item = path[len(folder) : len(path) - len(name)].strip("/")
            if item and "/" not in item and text.strip():
                found[item] = one_line(text)
    return found
