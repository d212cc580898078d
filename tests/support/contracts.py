"""Whether JSON that a command printed is what its JSON Schema says: no key is missing, and none is more.

What is published lets later versions add keys and words; what this version prints has no others.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from tare.cli.json_schemas import OUTPUT_NAMES, output_schema


def require_contract(printed: str) -> str | None:
    """Return the contract that `printed` names, None if it is no such JSON; fail where it breaks it."""
    if not printed.startswith(('{"schema":"tare.', '{"schema": "tare.')):
        return None
    found = json.loads(printed)
    contract = str(found["schema"])
    faults = [f"{one.json_path}: {one.message[:300]}" for one in validator(contract).iter_errors(found)]
    assert not faults, [contract, *faults[:5]]
    return contract


@cache
def validator(contract: str) -> Draft202012Validator:
    names = {contract: name for name, contract in OUTPUT_NAMES.items()}
    schema = output_schema(names[contract])
    _close(schema)
    return Draft202012Validator(schema)


def _close(schema: Any) -> None:
    if isinstance(schema, list):
        for one in schema:
            _close(one)
    elif isinstance(schema, dict):
        for one in schema.values():
            _close(one)
        if isinstance(schema.get("properties"), dict) and isinstance(schema.get("type"), str):
            schema.setdefault("additionalProperties", False)
        if isinstance(schema.get("examples"), list):
            schema["enum"] = schema.pop("examples")
