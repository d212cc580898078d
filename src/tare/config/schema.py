"""The JSON Schema of study and site files, made from the types that the decoder uses."""

from __future__ import annotations

from typing import Any

import msgspec

from tare.config.site_types import site_file_type
from tare.config.study_types import StudyFile

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TITLES = {"study": "A study of Tare", "site": "A site of Tare"}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``study`` or ``site`` files, for the installed backends."""
    title = _TITLES[kind]
    struct = StudyFile if kind == "study" else site_file_type()
    body = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(struct)))  # lists, not tuples
    _widen(body)
    return {"$schema": _DIALECT, "$id": f"urn:tare:schema:{kind}:1", "title": title, **body}


def _widen(schema: object) -> None:
    """Add to each type, in place, what else a file may hold (see core.fields), and refuse unknown keys."""
    if isinstance(schema, list):
        for one in schema:
            _widen(one)
    elif isinstance(schema, dict):
        for one in schema.values():
            _widen(one)
        also = schema.pop("x-also", None)
        if also is not None and "type" in schema:  # the names of properties have none
            schema["type"] = [schema["type"], also]
        if schema.pop("x-single", False):
            array = {key: schema.pop(key) for key in ("type", "items")}
            schema["anyOf"] = [array["items"], array]
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
