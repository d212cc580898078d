"""Read the evidence of an attempt, its commands and output, and pack it for the page.

What the page holds but does not show at first is compressed, so that the page can be mailed.
"""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt
from tare.core.counting import count
from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, UnreadableFile
from tare.core.pseudonyms import NO_PSEUDONYMS, Pseudonyms
from tare.core.safe_folder import SafeFolder
from tare.report.words.numbers import visible

RUN_LIMIT = 64 * 1024
"""The most bytes of one output stream that the page has; of a longer one it has the start and the end."""

PAGE_LIMIT = 2_200_000
"""The most characters that the packed evidence of all runs takes in the page."""

MOST_RUNS = 500
"""The most runs whose evidence is in the page; for the others, the page links to their folders."""

_COMMANDS = "command.json"
_TAIL = 16 * 1024
_LEAST_HEADROOM = 64
_MOST_COMMAND_BYTES = 4 * 1024 * 1024
_LEVEL = 6
"""The zlib level. Level 9 takes twice as long and saves one percent."""


class Command(msgspec.Struct, frozen=True):
    """One stage of an attempt as it was started, from its ``command.json``."""

    argv: list[str]
    env: dict[str, str] = {}
    host: str | None = None


class Evidence(msgspec.Struct, frozen=True):
    """The evidence that the page shows for a run: its commands, and its output streams by file name."""

    commands: list[Command]
    streams: dict[str, str]


def read_evidence(folder: SafeFolder, pseudonyms: Pseudonyms = NO_PSEUDONYMS) -> Evidence:
    """Return the evidence in an attempt's `folder`.

    A stream that cannot be read says so; links and the like, which are no streams, are left out.

    The streams of the last stage are ``stdout`` and ``stderr``. Those of earlier stages have the stage's name
    in theirs.
    """
    try:
        files = [one for one in folder.files() if one.name.split(".")[-1] in ("stdout", "stderr")]
    except UnreadableFile as error:
        return Evidence([], {"stdout": f"[ the folder of the run cannot be read: {error.strerror} ]"})
    streams = {visible(one.name): _stream(one, pseudonyms) for one in files}
    shown = {name: text for name, text in streams.items() if text is not None}
    try:
        return Evidence(read_commands(folder, pseudonyms), shown)
    except UnreadableFile as error:
        return Evidence([], {_COMMANDS: _not_given(error), **shown})


def pack(value: object) -> str:
    """Return `value` as base64 of JSON compressed with zlib (RFC 1950); the page's script unpacks it."""
    return base64.b64encode(zlib.compress(msgspec.json.encode(value), _LEVEL)).decode("ascii")


def pack_all(
    attempts: Iterable[Attempt],
    campaign_folder: Path,
    page_limit: int = PAGE_LIMIT,
    pseudonyms: Pseudonyms = NO_PSEUDONYMS,
) -> dict[str, str]:
    """Return the packed evidence of `attempts` by their folders, up to `page_limit` characters and MOST_RUNS.

    The first attempts have priority; `runs.by_urgency` orders them. Attempts for which the limit leaves no
    headroom are left out: the page links to their folders instead.
    """
    packed: dict[str, str] = {}
    if not SafeFolder(campaign_folder, "attempts").is_folder():
        return packed
    left = page_limit
    for attempt in attempts:
        if len(packed) == MOST_RUNS or left < _LEAST_HEADROOM:
            break
        folder = SafeFolder(campaign_folder, attempt.folder)
        if not folder.is_folder():
            continue
        text = pack(read_evidence(folder, pseudonyms))
        if len(text) <= left:
            packed[attempt.folder] = text
            left -= len(text)
    return packed


def read_commands(folder: SafeFolder, pseudonyms: Pseudonyms = NO_PSEUDONYMS) -> list[Command]:
    """Return the commands of an attempt's stages; none if they were not recorded, or are no list of commands.

    Raises UnreadableFile if the file system fails.
    """
    try:
        data = (folder / _COMMANDS).read(_MOST_COMMAND_BYTES)
        found = decode_json(data, type=list[Command])
    except UnreadableFile:
        raise
    except (OSError, *NOT_JSON):
        return []
    return [
        Command(
            [visible(word) for word in pseudonyms.argv(one.argv)],
            {visible(name): visible(value) for name, value in pseudonyms.variables(one.env).items()},
            one.host and visible(pseudonyms.only(one.host)),
        )
        for one in found
    ]


def _not_given(error: UnreadableFile) -> str:
    return f"[ the file in the campaign folder cannot be read: {error.strerror} ]"


def _stream(one: SafeFolder, pseudonyms: Pseudonyms) -> str | None:
    try:
        with one.reader() as file:
            head = file.read(RUN_LIMIT + 1)
            if len(head) <= RUN_LIMIT:
                return visible(pseudonyms.text(head.decode("utf-8", "replace")))
            size = os.fstat(file.fileno()).st_size
            file.seek(-_TAIL, 2)
            tail = file.read()
    except UnreadableFile as error:
        return _not_given(error)
    except OSError:
        return None
    head = head[: head.rfind(b"\n", 0, RUN_LIMIT - _TAIL) + 1] or head[: RUN_LIMIT - _TAIL]
    tail = tail[tail.find(b"\n") + 1 :] or tail  # begin with a whole line: half a secret is not recognised
    left_out = size - len(head) - len(tail)
    parts = (head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"))
    lack = f"{count(left_out, 'byte')} left out here; the file in the campaign folder has them"
    return f"\n\n[ … {lack} … ]\n\n".join(visible(pseudonyms.text(part)) for part in parts)
