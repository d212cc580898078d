"""Write the JSON Schemas of what commands print, deploy/share/tare/schemas: `python docs/generate.py`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tare.cli.json_schemas import OUTPUT_NAMES, output_schema

SCHEMAS = Path(__file__).parents[1] / "deploy" / "share" / "tare" / "schemas"


def schemas() -> dict[str, str]:
    """Return the schemas by their file names, such as ``compare.1.json``."""
    return {
        f"{name}.{contract.rpartition('/')[2]}.json": _text(output_schema(name))
        for name, contract in OUTPUT_NAMES.items()
    }


def _text(schema: dict[str, object]) -> str:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


def write() -> None:
    """Write the schemas, and remove those of contracts that are no more."""
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    found = schemas()
    for old in SCHEMAS.glob("*.json"):
        if old.name not in found:
            old.unlink()
    for name, text in found.items():
        (SCHEMAS / name).write_text(text)
