"""The JSON Schemas of what commands print as JSON, made from the types of `tare.cli.json_types`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from tare.cli.json_types import OUTPUTS, record
from tare.cli.live_json_types import SERVED
from tare.core.verdict import Verdict

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OF_INPUT = ("default", "pattern", "minimum", "maximum", "minLength", "maxLength")
"""What the schema of a type says of values that are read; what is printed has no defaults."""

_CONTRACTS = {**OUTPUTS, **SERVED}

OUTPUT_NAMES = {contract.removeprefix("tare.").partition("/")[0]: contract for contract in _CONTRACTS}
"""The contracts by their names without versions, as `tare schema` takes them."""


def output_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the contract ``name``, such as ``compare``.

    It asks for the keys that are always there, and allows further ones; the words of closed lists are
    examples. So it also fits what later versions of Tare print within the same version of the contract.
    """
    contract = OUTPUT_NAMES[name]
    read = msgspec.json.schema(record("Printed", _CONTRACTS[contract]), schema_hook=_of_verdicts)
    found = msgspec.json.decode(msgspec.json.encode(read))  # lists, not tuples
    body, defs = found["$defs"].pop("Printed"), found["$defs"]
    for one in (body, *defs.values()):
        _make_output(one, defs)
    return {
        "$schema": _DIALECT,
        "$id": f"urn:tare:schema:{name}:{contract.rpartition('/')[2]}",
        "title": contract,
        "type": "object",
        "properties": {"schema": {"const": contract}, **body["properties"]},
        "required": ["schema", *body["required"]],
        **({"$defs": defs} if defs else {}),
    }


def _of_verdicts(kind: type) -> dict[str, Any]:
    if issubclass(kind, Verdict):
        return {"type": "string", "description": "A verdict; packages can add further ones."}
    raise NotImplementedError(kind)


def _make_output(schema: dict[str, Any], defs: dict[str, Any]) -> None:
    """Change the schema of a type that is read, in place, to that of one that is written whole."""
    if "$ref" in schema and "additionalProperties" in schema:  # it is about keys that the type has not
        named = schema["$ref"].rpartition("/")[2]
        defs[named]["additionalProperties"] = schema.pop("additionalProperties")
    if "properties" in schema:
        is_written_whole = schema.get("title") not in _sparse_types()
        kept = {*schema.get("required", ())}
        schema["required"] = [
            key
            for key, one in schema["properties"].items()
            if key in kept or (is_written_whole and "default" in one)
        ]
    for key in _OF_INPUT:
        schema.pop(key, None)
    if "description" in schema:
        schema["description"] = inspect.cleandoc(schema["description"])
    if "enum" in schema:
        schema |= {"type": "string", "examples": schema.pop("enum")}
    for one in _inner(schema):
        _make_output(one, defs)


@cache
def _sparse_types() -> frozenset[str]:
    """Return the names of the types that are written without the fields that have their default."""
    found, types = set[str](), list[type[msgspec.Struct]](msgspec.Struct.__subclasses__())
    while types:
        one = types.pop()
        types += one.__subclasses__()
        if one.__struct_config__.omit_defaults:
            found.add(one.__name__)
    return frozenset(found)


def _inner(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas that `schema` consists of."""
    yield from schema.get("properties", {}).values()
    for key in ("anyOf", "prefixItems"):
        yield from schema.get(key, ())
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]
