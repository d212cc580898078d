"""What a source of facts is: a shell script that asks a node, and a reader of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

Answers = Mapping[str, str]
"""What a node answered: the text of each record, by the path or name that the script gave it."""

Facts = dict[str, str]


class Source(msgspec.Struct, frozen=True):
    """One source of facts about a node.

    `script` is for any POSIX shell. It has ``files PATTERN…``, which records each readable file under its
    path, ``told NAME COMMAND…``, which records what a command prints unless it fails, ``hide``, a filter for
    text that may hold secrets, and the variables of Subject. What it cannot find out it leaves out. `read`
    makes facts of the records, of which it gets only its own. `order` is its place among others.
    """

    name: str
    script: str
    read: Callable[[Answers], Facts]
    order: int = 500


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What of a node is asked for: the programs that a campaign runs there, and the MPI that starts them.

    `prefix` is where that MPI is installed, `starter` the command that starts ranks; both are empty where
    there is none. Programs are looked for in `path`, and their libraries in `library_path`, before all else;
    both are lists of folders with colons.
    """

    prefix: str = ""
    starter: str = ""
    programs: tuple[str, ...] = ()
    path: str = ""
    library_path: str = ""


def whole(text: str) -> str:
    """Return `text` on one line."""
    return " ".join(text.replace("\0", " ").split())


def listed(answers: Answers, folder: str, name: str = "") -> dict[str, str]:
    """Return the one-line texts of ``folder/ITEM[/name]`` by ITEM, in the order of their names."""
    found = {}
    for path, text in sorted(answers.items()):
        if path.startswith(folder) and path.endswith(name):
            item = path[len(folder) : len(path) - len(name)].strip("/")
            if item and "/" not in item and text.strip():
                found[item] = whole(text)
    return found
