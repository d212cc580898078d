"""Say in words what a type takes, as in ``a whole number such as 4``, and what a file has in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import inspect

from tare.config.document import ListNode, MapNode, Node, ScalarNode
from tare.config.faults import shown

_NEEDS_QUOTES = re.compile(r"[\[\]{},]|: ")


def found(node: Node) -> str:
    """Return what a file has at `node`: its text, or what kind of value it is."""
    if isinstance(node, MapNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    if isinstance(node, ScalarNode) and node.value is not None:
        return shown(node.text) if isinstance(node.value, str) else node.text
    return "nothing"


def expected(kind: inspect.Type, example: object = None) -> str:
    """Return a description of `kind` for users, with its example, or else with `example`."""
    given = next(iter(_examples(kind)), example)
    name = _noun(kind)
    return name if given is None else f"{name} such as {as_yaml(given)}"


def example_value(kind: inspect.Type) -> object:
    """Return a value of the example of a mapping; None if it has no example."""
    given = next(iter(_examples(kind)), None)
    return next(iter(given.values()), None) if isinstance(given, Mapping) else None


def _examples(kind: inspect.Type) -> Sequence[object]:
    if isinstance(kind, inspect.UnionType):
        return next(filter(None, map(_examples, kind.types)), ())
    if not isinstance(kind, inspect.Metadata):
        return ()
    given = (kind.extra_json_schema or {}).get("examples", ())
    return given if isinstance(given, list) and given else _examples(kind.type)


_NOUNS: Mapping[type, str] = {
    inspect.StructType: "a mapping",
    inspect.DictType: "a mapping",
    inspect.ListType: "a list",
    inspect.VarTupleType: "a list",
    inspect.StrType: "text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.NoneType: "nothing",
}
_ANY_SCALAR = frozenset(("text", "a whole number", "a number", "true or false"))


def _noun(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.Metadata):
        extra = kind.extra or {}
        if "single" in extra and isinstance(kind.type, inspect.VarTupleType):
            return f"{_noun(kind.type.item_type)} or a list"
        return "a quantity" if "dimension" in extra else _noun(kind.type)
    if isinstance(kind, inspect.UnionType):
        return _nouns(one for one in kind.types if not isinstance(one, inspect.NoneType))
    if isinstance(kind, inspect.EnumType):
        return f"one of {', '.join(str(member.value) for member in kind.cls)}"
    if isinstance(kind, inspect.LiteralType) and len(kind.values) == 1:
        return shown(str(kind.values[0]))
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(str(value) for value in kind.values)}"
    return _NOUNS[type(kind)]


def _nouns(kinds: Iterable[inspect.Type]) -> str:
    nouns = list(dict.fromkeys(_noun(kind) for kind in kinds))
    if _ANY_SCALAR.issubset(nouns):
        nouns = ["a value", *(noun for noun in nouns if noun not in _ANY_SCALAR)]
    return f"{', '.join(nouns[:-1])} or {nouns[-1]}" if len(nouns) > 1 else nouns[0]


def example_entry(name: str, kind: inspect.Type) -> str:
    """Return the entry that a mapping lacks, as it may be copied, or what it takes if there is no example."""
    examples = _examples(kind)
    if not examples:
        return f"{shown(name + ':')} with {expected(kind)}"
    entry = f"{name}: {as_yaml(examples[0])}"
    return entry if "'" in entry else f"'{entry}'"  # whole, so that it can be copied


def as_yaml(value: object) -> str:
    """Return an example in YAML on one line, as a user would write it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_quoted(as_yaml(one), one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_quoted(as_yaml(one), one) for one in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(text: str, value: object) -> str:
    """Return the `text` of an example within brackets, in quotes if it would be read as something else."""
    return f"'{text}'" if isinstance(value, str) and _NEEDS_QUOTES.search(text) else text
