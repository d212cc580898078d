"""Refuse options in a case's `args` that the workload's parameters set: a table would record other settings.

Programs take the first of two equal options, or the last, and few of them print the settings that they used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tare.core.case import Case
from tare.core.program import NONE, split_words

_LEAST_PREFIX = 5  # of a long option, with its dashes; getopt_long(3) takes every prefix that is unique


def option_faults(case: Case, name: str, cures: Mapping[str, str]) -> Iterator[str]:
    """Yield a fault for each option in `args` that is in `cures`, which says what to do instead.

    An option may be attached to its value (``-i200``, ``--iterations=200``), and a long one be cut short.
    `name` is the name of the workload.
    """
    words = split_words(str(case.parameters.get("args", NONE)))
    found = dict.fromkeys(option for word in words if (option := _option(word, cures)))
    for option in found:
        yield f"args has {option}, which {name} sets itself; leave it out, and {cures[option]}"


def _option(word: str, options: Mapping[str, str]) -> str | None:
    """Return the option of `options` that `word` gives; None if it gives none of them."""
    option = word.partition("=")[0]
    if option in options:
        return option
    if word.startswith("--"):
        is_long = len(option) >= _LEAST_PREFIX
        return next((one for one in options if is_long and one.startswith(option)), None)
    return word[:2] if word[:2] in options else None
