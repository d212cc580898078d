"""Whether an object has the interface of a protocol, remembered for its class.

``isinstance`` with a protocol looks up each of its members, which takes some 30 µs in Python 3.11. Each run
asks several times, always for the same few classes.
"""

from __future__ import annotations

from typing import TypeGuard, TypeVar

_P = TypeVar("_P")
_known: dict[tuple[type, type], bool] = {}


def implements(one: object, protocol: type[_P]) -> TypeGuard[_P]:
    """Return ``isinstance(one, protocol)``, as it was for the first object of the same class.

    So it is only for members that all objects of a class have, or none.
    """
    which = (type(one), protocol)
    if which not in _known:
        _known[which] = isinstance(one, protocol)
    return _known[which]
