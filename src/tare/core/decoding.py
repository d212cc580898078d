"""Decode JSON and plain values into typed ones, from any thread.

msgspec (0.22) learns a type when a value of it is decoded first. Where two threads do that at the same time,
one uses what the other has not completed, and the process crashes (SIGSEGV). So each type is learnt once, by
one thread at a time.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

_learning = threading.Lock()
_known: dict[object, msgspec.json.Decoder[Any]] = {}


@overload
def decode_json(data: bytes | bytearray | msgspec.Raw | str, *, type: type[T]) -> T: ...


@overload
def decode_json(data: bytes | bytearray | msgspec.Raw | str, *, type: object) -> Any: ...


def decode_json(data: bytes | bytearray | msgspec.Raw | str, *, type: object) -> Any:  # noqa: A002  # as msgspec's
    """Return the value of the JSON text `data` as a `type`. Raises as ``msgspec.json.decode`` does."""
    return _learnt(type).decode(data)


@overload
def convert(value: object, type: type[T]) -> T: ...


@overload
def convert(value: object, type: object) -> Any: ...


def convert(value: object, type: object) -> Any:  # noqa: A002  # as msgspec's
    """Return a `value` of plain objects as a `type`. Raises as ``msgspec.convert`` does."""
    _learnt(type)
    return msgspec.convert(value, type)


def _learnt(kind: object) -> msgspec.json.Decoder[Any]:
    found = _known.get(kind)
    if found is None:
        with _learning:
            found = _known.get(kind) or msgspec.json.Decoder(kind)
            _known[kind] = found
    return found
