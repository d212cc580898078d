"""Write values of Python as the text of a study or site file.

`read_document` gives back what was written: text stays text, also where YAML would read it as a number.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence

import yaml

from tare.config.document import DEEPEST_NESTING, resolve
from tare.config.faults import Path, format_path, shown
from tare.core.errors import Fault, FileFaults
from tare.core.values import Scalar

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDTH = 110

Value = Scalar | None | list["Value"] | dict[str, "Value"]


def document_text(value: Mapping[str, object], name: str) -> str:
    """Return `value` as YAML: mappings with text as keys, sequences, text, numbers, truth values and None.

    Paths become text; numbers and arrays of NumPy, pandas and Polars become numbers and lists. Raises
    FileFaults with the place of the first value that a file cannot hold; `name` names the whole in it.
    """
    return yaml.dump(
        _plain(value, (), name),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=_WIDTH,
    )


def _plain(value: object, path: Path, name: str) -> Value:
    """Return `value` with types of YAML alone."""
    value = _of_python(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            raise _fault(path, name, "text cannot hold half of a surrogate pair; remove it")
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise _fault(path, name, f"{value} is not a number; leave it out, or write it as text")
    if len(path) > DEEPEST_NESTING:
        raise _fault(path[:2], name, f"nested more than {DEEPEST_NESTING} deep; flatten it")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _fault(path, name, f"the key {shown(str(key))} is no text; write it in quotes")
        return {str(key): _plain(item, (*path, str(key)), name) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item, (*path, index), name) for index, item in enumerate(value)]
    kind = type(value).__name__
    raise _fault(path, name, f"a file cannot hold a {kind}; use text, a number, True, a list or a dict")


def _of_python(value: object) -> object:
    """Return a path as text, and a number or an array of another package as one of Python."""
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    for name in ("tolist", "to_list"):  # NumPy and pandas; Polars
        if callable(convert := getattr(value, name, None)):
            return convert()
    return value


def _fault(path: Path, name: str, message: str) -> FileFaults:
    return FileFaults([Fault(name, 0, 0, format_path(path), message)])


class _Dumper(yaml.SafeDumper):
    """Writes text in quotes unless it can only be text, and each value out instead of as an alias."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_word = _PLAIN.fullmatch(text) is not None and resolve(text) == text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_word else '"')


_Dumper.add_representer(str, _text)
