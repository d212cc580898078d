"""Decode a tree of nodes into a msgspec type, and collect every fault with its place and its cure.

The JSON Schema is made from the same types: descriptions, examples and limits come from ``msgspec.Meta``. Its
`extra` may hold more: ``dimension`` reads a quantity with its unit, ``single`` reads one item as a list, and
``cure`` explains a pattern.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from tare.config.document import ListNode, MapNode, Node, ScalarNode
from tare.config.faults import START, Faults, Path, nearest, shown
from tare.config.kind_words import example_entry, example_value, expected, found
from tare.core.errors import nearest_name
from tare.core.units import Dimension, parse_bytes, parse_quantity

StructT = TypeVar("StructT", bound=msgspec.Struct)

_type_info = functools.cache(inspect.type_info)


class _Faulty:
    """Stands for a value that could not be decoded; its fault has been recorded."""


_FAULTY = _Faulty()

_TEXTS = (inspect.StrType, inspect.EnumType, inspect.LiteralType)


def decode(node: Node, kind: type[StructT], faults: Faults, path: Path = ()) -> StructT | None:
    """Return `node` as a struct of `kind`, or None where a required field is missing or faulty.

    A faulty field with a default gets the default, so that the rest of the file can be checked, too: look at
    `faults` before using the result. If the file has none of the keys, the user probably named another file
    by mistake. The fault then does not quote its content.
    """
    if not path and (keys := _keys_of(kind)) and not _is_meant(node, keys):
        some = ", ".join(keys[:4])
        faults.add(
            START,
            (),
            f"expected a mapping with keys such as {some}; this holds none of them: name another file",
        )
        return None
    value = _Decoder(faults).decode(node, _type_info(kind), path)
    return value if isinstance(value, kind) else None


def _keys_of(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    info = _type_info(kind)
    return tuple(one.encode_name for one in info.fields) if isinstance(info, inspect.StructType) else ()


def _is_meant(node: Node, keys: tuple[str, ...]) -> bool:
    """Return whether `node` has one of `keys` or a similar key; an empty mapping also counts."""
    if not isinstance(node, MapNode):
        return False
    return not node.entries or any(key in keys or nearest_name(key, keys) for key in node.entries)


class _Spot(NamedTuple):
    """The position of the decoder: the node, its path, and what its type's Meta adds to the bare type."""

    node: Node
    path: Path
    whole: inspect.Type
    """The type with its Meta, or the union that it belongs to; messages name it as the expected type."""
    extra: Mapping[str, object] = {}
    example: object = None
    """The value of an example of the mapping that it is in, whose own type may have none."""


class _Decoder:
    """Decodes a tree, following a type and the tree together."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._readers: Mapping[type, Callable[..., object]] = {
            inspect.StructType: self._struct,
            inspect.DictType: self._dict,
            inspect.ListType: self._list,
            inspect.VarTupleType: self._tuple,
            inspect.UnionType: self._union,
            inspect.EnumType: self._enum,
            inspect.LiteralType: self._literal,
            inspect.StrType: self._text,
            inspect.IntType: self._number,
            inspect.FloatType: self._number,
            inspect.BoolType: self._bool,
            inspect.NoneType: self._none,
            inspect.AnyType: self._any,
        }

    def decode(self, node: Node, kind: inspect.Type, path: Path, example: object = None) -> object:
        """Return `node` as `kind`, or _FAULTY."""
        return self._read(_Spot(node, path, kind, example=example), kind)

    def _read(self, spot: _Spot, kind: inspect.Type) -> object:
        if isinstance(kind, inspect.Metadata):
            return self._read(spot._replace(extra=kind.extra or spot.extra), kind.type)
        return self._readers[type(kind)](spot, kind)

    def _fault(self, spot: _Spot, message: str) -> _Faulty:
        self.faults.add(spot.node, spot.path, message)
        return _FAULTY

    def _unexpected(self, spot: _Spot) -> _Faulty:
        wanted = expected(spot.whole, spot.example)
        if "a whole number" in wanted and _is_huge(spot.node):
            return self._fault(spot, f"{found(spot.node)} is out of range; write at most 18 digits")
        message = f"expected {wanted}, not {found(spot.node)}"
        is_flag = isinstance(spot.node, ScalarNode) and isinstance(spot.node.value, bool)
        cure = "; put it in quotes if it is text" if is_flag and _takes_text(spot.whole) else ""
        return self._fault(spot, message + cure)

    def _struct(self, spot: _Spot, kind: inspect.StructType) -> object:
        if not isinstance(spot.node, MapNode):
            return self._unexpected(spot)
        missing = {field.encode_name: field for field in kind.fields}
        names = tuple(missing)
        values: dict[str, object] = {}
        is_whole = True
        for key, entry in spot.node.entries.items():
            path = (*spot.path, key)
            field = missing.pop(key, None)
            if field is None:
                self.faults.add(entry, path, f"unknown key {shown(key)}; {nearest(key, names)}")
                continue
            value = self.decode(entry.value, field.type, path)
            if value is None and isinstance(entry.value, ScalarNode) and not entry.value.text:
                message = f"{shown(key)} has no value; write one, or remove the line"
                self.faults.add(entry.value, path, message)
            if value is not _FAULTY:
                values[field.name] = value
            elif field.required:
                is_whole = False
        for name, field in missing.items():
            if field.required:
                self._fault(spot, f"{shown(name)} is missing; add {example_entry(name, field.type)}")
                is_whole = False
        return kind.cls(**values) if is_whole else _FAULTY

    def _dict(self, spot: _Spot, kind: inspect.DictType) -> object:
        if not isinstance(spot.node, MapNode):
            return self._unexpected(spot)
        values: dict[object, object] = {}
        example = example_value(spot.whole)
        for key, entry in spot.node.entries.items():
            path = (*spot.path, key)
            name = self.decode(ScalarNode(entry.line, entry.column, key, key), kind.key_type, path)
            value = self.decode(entry.value, kind.value_type, path, example)
            if name is not _FAULTY and value is not _FAULTY:
                values[name] = value
        return values

    def _list(self, spot: _Spot, kind: inspect.ListType | inspect.VarTupleType) -> object:
        if _is_single(spot.node, spot.extra):
            value = self.decode(spot.node, kind.item_type, spot.path)
            return value if value is _FAULTY else [value]
        if not isinstance(spot.node, ListNode):
            return self._unexpected(spot)
        items = spot.node.items
        if kind.min_length and len(items) < kind.min_length:
            return self._fault(spot, f"the list is empty; expected {expected(spot.whole)}")
        values = [self.decode(item, kind.item_type, (*spot.path, n)) for n, item in enumerate(items)]
        return _FAULTY if _FAULTY in values else values  # without it, indices would be wrong

    def _tuple(self, spot: _Spot, kind: inspect.VarTupleType) -> object:
        values = self._list(spot, kind)
        return tuple(values) if isinstance(values, list) else values

    def _union(self, spot: _Spot, kind: inspect.UnionType) -> object:
        candidates = [one for one in kind.types if _suits(spot.node, one)]
        if not candidates:
            return self._unexpected(spot)
        # A literal word, such as 'off', comes first; a number is text only where no other type accepts it.
        candidates.sort(key=lambda one: (not _is_word_of(spot.node, one), isinstance(_bare(one), _TEXTS)))
        return self._read(spot, candidates[0])

    def _enum(self, spot: _Spot, kind: inspect.EnumType) -> object:
        by_value = {member.value: member for member in kind.cls}
        text = self._choice(spot, list(by_value))
        return by_value[text] if isinstance(text, str) else _FAULTY

    def _literal(self, spot: _Spot, kind: inspect.LiteralType) -> object:
        return self._choice(spot, [str(value) for value in kind.values])

    def _choice(self, spot: _Spot, choices: Sequence[str]) -> object:
        node = spot.node
        if not isinstance(node, ScalarNode) or node.value is None:
            return self._unexpected(spot)
        if node.text in choices:
            return node.text
        if _takes_more_than_words(spot.whole) and not nearest_name(node.text, choices):
            return self._unexpected(spot)
        return self._fault(spot, f"{shown(node.text)} is unknown here; {nearest(node.text, choices)}")

    def _text(self, spot: _Spot, kind: inspect.StrType) -> object:
        node = spot.node
        if not isinstance(node, ScalarNode) or node.value is None or (kind.min_length and not node.text):
            return self._unexpected(spot)
        if isinstance(node.value, bool):
            words = expected(spot.whole)
            return self._fault(spot, f"expected {words}, not {node.text}; put it in quotes if it is text")
        if kind.max_length and len(node.text) > kind.max_length:
            return self._fault(
                spot, f"{shown(node.text)} is longer than {kind.max_length} characters; shorten it"
            )
        if kind.pattern and not re.fullmatch(kind.pattern, node.text):
            cure = spot.extra.get("cure") or f"does not match {kind.pattern}; change it"
            return self._fault(spot, f"{shown(node.text)} {cure}")
        return node.text  # the text as written: a platform may be called 4.10, which is not 4.1

    def _number(self, spot: _Spot, kind: inspect.IntType | inspect.FloatType) -> object:
        node = spot.node
        if not isinstance(node, ScalarNode) or node.value is None or isinstance(node.value, bool):
            return self._unexpected(spot)
        is_whole = isinstance(kind, inspect.IntType)
        value = node.value
        dimension = spot.extra.get("dimension")
        if isinstance(dimension, Dimension):
            try:
                value = parse_bytes(value) if is_whole else parse_quantity(value, dimension)
            except ValueError as error:
                return self._fault(spot, str(error))
        if isinstance(value, str) or (is_whole and not isinstance(value, int)):
            return self._unexpected(spot)
        limit = _beyond(value, kind)
        if limit and dimension is Dimension.FRACTION and 1 <= value < 100 and node.value == value:
            limit = f"write {node.text} %, or a fraction below 1"
        if limit:
            return self._fault(spot, f"{node.text} is out of range; {limit}")
        return value if is_whole else float(value)

    def _bool(self, spot: _Spot, kind: inspect.BoolType) -> object:
        if isinstance(spot.node, ScalarNode) and isinstance(spot.node.value, bool):
            return spot.node.value
        return self._unexpected(spot)

    def _none(self, spot: _Spot, kind: inspect.NoneType) -> object:
        if isinstance(spot.node, ScalarNode) and spot.node.value is None:
            return None
        return self._unexpected(spot)

    def _any(self, spot: _Spot, kind: inspect.AnyType) -> object:
        return _plain(spot.node)


def _plain(node: Node) -> object:
    """Return the plain value of `node`, for a receiver that checks it itself."""
    if isinstance(node, MapNode):
        return {key: _plain(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node, ScalarNode) else None


def _is_huge(node: Node) -> bool:
    """Return whether a whole number has more than the 64 bits that are read as one."""
    return (
        isinstance(node, ScalarNode)
        and isinstance(node.value, float)
        and re.fullmatch(r"[-+]?\d+", node.text) is not None
    )


def _takes_text(kind: inspect.Type) -> bool:
    """Return whether text is a value of `kind`."""
    bare = _bare(kind)
    if isinstance(bare, inspect.UnionType):
        return any(_takes_text(one) for one in bare.types)
    return isinstance(bare, inspect.StrType)


def _bare(kind: inspect.Type) -> inspect.Type:
    return _bare(kind.type) if isinstance(kind, inspect.Metadata) else kind


def _takes_more_than_words(kind: inspect.Type) -> bool:
    """Return whether `kind` takes something beside literal words, such as a number."""
    words = (inspect.LiteralType, inspect.EnumType, inspect.NoneType)
    bare = _bare(kind)
    types = bare.types if isinstance(bare, inspect.UnionType) else (bare,)
    return not all(isinstance(_bare(one), words) for one in types)


def _is_word_of(node: Node, kind: inspect.Type) -> bool:
    """Return whether `node` is one of the literal words of `kind`."""
    bare = _bare(kind)
    return isinstance(bare, inspect.LiteralType) and isinstance(node, ScalarNode) and node.text in bare.values


def _is_single(node: Node, extra: Mapping[str, object]) -> bool:
    """Return whether `node` is one item in place of a list, where the type's Meta allows that."""
    return "single" in extra and isinstance(node, ScalarNode) and node.value is not None


def _suits(node: Node, kind: inspect.Type) -> bool:
    """Return whether `node` has the shape of `kind`, the member of a union that it must then satisfy."""
    extra = (kind.extra or {}) if isinstance(kind, inspect.Metadata) else {}
    if "dimension" in extra:
        return isinstance(node, ScalarNode) and node.value is not None and not isinstance(node.value, bool)
    if _is_single(node, extra):
        return True
    bare = _bare(kind)
    if isinstance(bare, inspect.UnionType):
        return any(_suits(node, one) for one in bare.types)
    if isinstance(node, MapNode):
        return isinstance(bare, (inspect.StructType, inspect.DictType))
    if isinstance(node, ListNode):
        return isinstance(bare, (inspect.ListType, inspect.VarTupleType))
    value = node.value if isinstance(node, ScalarNode) else None
    if value is None:
        return isinstance(bare, inspect.NoneType)
    if isinstance(value, bool):
        return isinstance(bare, inspect.BoolType)
    if isinstance(value, str):
        return isinstance(bare, _TEXTS)
    numbers = (inspect.IntType, inspect.FloatType) if isinstance(value, int) else (inspect.FloatType,)
    return isinstance(bare, (*numbers, *_TEXTS))


def _beyond(value: float, kind: inspect.IntType | inspect.FloatType) -> str | None:
    """Return how to bring `value` into the limits of `kind`, or None if it is within them."""
    if not math.isfinite(value):
        return "use a finite number"
    if kind.ge is not None and value < kind.ge:
        return f"use {kind.ge:g} or more"
    if kind.gt is not None and value <= kind.gt:
        return f"use more than {kind.gt:g}"
    if kind.le is not None and value > kind.le:
        return f"use {kind.le:g} or less"
    if kind.lt is not None and value >= kind.lt:
        return f"use less than {kind.lt:g}"
    return None
