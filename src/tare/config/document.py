"""Parse YAML text into a tree of nodes with their positions. No tag builds a Python object.

Scalars follow the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema): ``no``, ``on`` and
``12:30`` are text, so that a platform may be called ``no``. Merge keys (``<<``) work as in YAML 1.1.
"""

from __future__ import annotations

import codecs
import re

import msgspec
import yaml
from yaml import events

from tare.config.faults import START, Faults, Path, Position, shown
from tare.core.values import Scalar

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

LARGEST_FILE_CHARACTERS = 16 * 2**20
DEEPEST_NESTING = 50
MOST_NODES = 1_000_000
"""The most nodes of the tree, with every alias written out; an alias bomb has billions."""

_UNREADABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}|0o[0-7]{1,20}|0x[0-9a-fA-F]{1,15}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]{1,300}(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")


class Node(Position, frozen=True):
    """A value in the file, and the position where it starts."""


class ScalarNode(Node, frozen=True):
    """A single value. `text` is as written; `value` is its meaning in YAML, None for an empty one."""

    text: str
    value: Scalar | None


class ListNode(Node, frozen=True):
    """A list."""

    items: tuple[Node, ...]


class Entry(Position, frozen=True):
    """One entry of a mapping, with the position of its key."""

    value: Node


class MapNode(Node, frozen=True):
    """A mapping, in the order of the file."""

    entries: dict[str, Entry]


def child(node: Node | None, key: str) -> Node | None:
    """Return the value of `key` where `node` is a mapping that has it."""
    entry = node.entries.get(key) if isinstance(node, MapNode) else None
    return entry.value if entry else None


def find(node: Node, path: Path) -> Node:
    """Return the node at `path`, or the last one on the way to it that exists."""
    for step in path:
        if isinstance(node, MapNode) and step in node.entries:
            node = node.entries[str(step)].value
        elif isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
        else:
            break
    return node


def decode_text(raw: bytes, faults: Faults) -> str | None:
    """Return the bytes of a file as text; None, with a fault recorded, where they are not text."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        faults.add(START, (), "the file is in UTF-16; save it as UTF-8")
        return None
    raw = raw.removeprefix(codecs.BOM_UTF8)  # "utf-8-sig" would not count it in the positions of errors
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        faults.add(position, (), f"byte {raw[error.start]:#04x} is not UTF-8; save the file as UTF-8")
        return None


def read_document(text: str, faults: Faults) -> Node | None:
    """Return the tree of the one document in `text`; None, with a fault recorded, where it has none."""
    text = text.removeprefix("\ufeff")
    if len(text) > LARGEST_FILE_CHARACTERS:
        faults.add(START, (), f"the file has more than {LARGEST_FILE_CHARACTERS} characters; shorten it")
        return None
    unreadable = _UNREADABLE.search(text)
    if unreadable:
        at = unreadable.start()
        position = Position(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        faults.add(position, (), f"character U+{ord(unreadable[0]):04X} cannot be in a YAML file; remove it")
        return None
    builder = _Builder(faults)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        faults.add(_position_of(error), (), _cure(error, text))
        return None
    except (yaml.YAMLError, ValueError) as error:
        faults.add(START, (), f"this is not YAML: {' '.join(str(error).split())}; save it as plain text")
        return None
    except _Refused:
        return None
    if builder.root is None:
        faults.add(START, (), "the file is empty; write a study or a site into it")
    return builder.root


class _Refused(Exception):
    """The document exceeds a limit; the fault has been recorded."""


class _Frame(msgspec.Struct):
    """A list or mapping whose end has not been read yet.

    `weight` counts its nodes, with aliases written out.
    """

    start: Position
    is_map: bool
    anchor: str | None
    items: list[Node] = []
    weight: int = 1


class _Builder:
    """Builds the tree from the parser's events, without recursion, so that deep nesting cannot break it."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.root: Node | None = None
        self._open: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._n_documents = 0

    def take(self, event: events.Event) -> None:
        """Take the next event of the parser. Raises _Refused when the document exceeds a limit."""
        if isinstance(event, events.ScalarEvent):
            self._add(self._scalar(event), 1, event.anchor)
        elif isinstance(event, events.CollectionStartEvent):
            self._start(event)
        elif isinstance(event, events.CollectionEndEvent):
            self._end()
        elif isinstance(event, events.AliasEvent):
            self._alias(event)
        elif isinstance(event, events.DocumentStartEvent):
            self._n_documents += 1
            if self._n_documents > 1:
                self._refuse(event, "a second document starts here; keep one document in a file")

    def _path(self) -> Path:
        steps: list[str | int] = []
        for frame in self._open:
            if not frame.is_map:
                steps.append(len(frame.items))
            elif len(frame.items) % 2 and isinstance(key := frame.items[-1], ScalarNode):
                steps.append(key.text)
        return tuple(steps)

    def _refuse(self, event: events.Event, message: str) -> None:
        self.faults.add(_start_of(event), self._path(), message)
        raise _Refused

    def _scalar(self, event: events.ScalarEvent) -> ScalarNode:
        self._check_tag(event, _TEXT_TAGS)
        start = _start_of(event)
        if "\0" in event.value:
            self.faults.add(start, self._path(), "text cannot hold a NUL character; remove it")
        text = event.value.replace("\0", "")  # a second fault for it would not help
        is_plain = event.implicit[0] and event.tag is None
        return ScalarNode(start.line, start.column, text, resolve(text) if is_plain else text)

    def _check_tag(
        self, event: events.ScalarEvent | events.CollectionStartEvent, known: tuple[str, ...]
    ) -> None:
        if event.tag is not None and event.tag not in known:
            what = f"tag {shown(event.tag)}" if self._open else "a tag"  # see _alias: it may be a password
            self.faults.add(_start_of(event), self._path(), f"{what} is not supported; remove it")

    def _start(self, event: events.CollectionStartEvent) -> None:
        self._check_tag(event, ("!",))
        if len(self._open) >= DEEPEST_NESTING:
            message = f"nested more than {DEEPEST_NESTING} deep; flatten it"
            self.faults.add(_start_of(event), self._path()[:2], message)
            raise _Refused
        is_map = isinstance(event, events.MappingStartEvent)
        self._open.append(_Frame(_start_of(event), is_map, event.anchor))
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)

    def _end(self) -> None:
        frame = self._open.pop()
        if frame.is_map:
            node: Node = MapNode(frame.start.line, frame.start.column, self._entries(frame))
        else:
            node = ListNode(frame.start.line, frame.start.column, tuple(frame.items))
        self._add(node, frame.weight, frame.anchor)

    def _alias(self, event: events.AliasEvent) -> None:
        if event.anchor in self._anchors:
            self._add(*self._anchors[event.anchor], None, event)
        elif any(frame.anchor == event.anchor for frame in self._open):
            self._refuse(event, f"'*{event.anchor}' would contain itself; write it out")
        else:
            name = event.anchor if self._open else "…"  # a file of one word may be a password
            self._refuse(event, f"'*{name}' has no '&{name}' before it; define it or quote it")

    def _add(self, node: Node, weight: int, anchor: str | None, alias: events.Event | None = None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, weight)
        if not self._open:
            self.root = node
            return
        frame = self._open[-1]
        frame.weight += weight
        if frame.weight > MOST_NODES:
            position = node if alias is None else _start_of(alias)
            what = "the aliases stand for" if alias is not None else "there are"
            self.faults.add(position, self._path(), f"{what} more than {MOST_NODES} values; write fewer")
            raise _Refused
        frame.items.append(node)

    def _entries(self, frame: _Frame) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: list[tuple[ScalarNode, Node]] = []
        path = self._path()
        for key, value in zip(frame.items[::2], frame.items[1::2], strict=True):
            if not isinstance(key, ScalarNode):
                self.faults.add(key, path, "a key must be text, not a list or mapping; quote it")
            elif key.text == "<<" and isinstance(value, (MapNode, ListNode)):
                merged.append((key, value))
            elif key.text in entries:
                first = entries[key.text].line
                message = f"key {shown(key.text)} is here twice, first in line {first}; keep one"
                self.faults.add(key, (*path, key.text), message)
            else:
                entries[key.text] = Entry(key.line, key.column, value)
        for key, value in merged:
            self._merge(entries, key, value, path)
        return entries

    def _merge(self, entries: dict[str, Entry], key: ScalarNode, value: Node, path: Path) -> None:
        for mapping in value.items if isinstance(value, ListNode) else (value,):
            if isinstance(mapping, MapNode):
                for name, entry in mapping.entries.items():
                    entries.setdefault(name, entry)
            else:
                self.faults.add(key, path, "'<<' merges mappings only; give it '*name' of a mapping")


def resolve(text: str) -> Scalar | None:
    """Return what plain `text` means in YAML's core schema; None for null and empty text.

    Numbers beyond 64 bits, infinities and NaN stay text: no setting of Tare can have such a value.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text) and abs(number := float(text)) < float("inf"):
        return number
    return text


def _start_of(event: events.Event) -> Position:
    mark = event.start_mark
    return START if mark is None else Position(mark.line + 1, mark.column + 1)


def _position_of(error: yaml.MarkedYAMLError) -> Position:
    mark = error.problem_mark or error.context_mark
    if "quoted scalar" in str(error.context) and error.context_mark:
        mark = error.context_mark  # where the quotes open, rather than the end of the file
    return START if mark is None else Position(mark.line + 1, mark.column + 1)


def _cure(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return what the parser found, with the usual cure for it."""
    position = _position_of(error)
    lines = text.splitlines()
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    character = line[position.column - 1 : position.column]
    problem = " ".join(str(error.problem or error.context or "unreadable").split())
    if "\t" in line[: len(line) - len(line.lstrip())] or character == "\t":
        return "a tab cannot indent YAML; use spaces"
    if "cannot start any token" in problem:
        return f"text cannot start with {shown(character)}; put it in quotes"
    if "mapping values are not allowed" in problem:
        return "a ': ' is not expected here; check the indentation, or put text that holds ': ' in quotes"
    if "expected ',' or" in problem:
        return f"{problem}; close the bracket, and put text that holds brackets or commas in quotes"
    if "escape" in problem or "hexdecimal" in problem:
        return "a backslash in double quotes is an escape of YAML; use single quotes, which keep it as it is"
    if "quoted scalar" in str(error.context):
        return "the quotes that open here are not closed; close them"
    return f"this is not YAML: {problem}; check the indentation and the quotes"
