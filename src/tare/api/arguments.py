"""Read the arguments of Python's callers as commands read their options, and say errors in terms of them."""

from __future__ import annotations

import numbers
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tare.analysis.named_settings import no_reference, values_of_cases
from tare.core.campaign import Campaign
from tare.core.errors import UsageError, path_fault, shown
from tare.core.pseudonyms import fault_of_all
from tare.core.values import Scalar

_ARGUMENTS = {
    "another --out": "another folder",
    "add --extend": "give extend=True",
    "tare run --no-rehearsal": "rehearsal=False",
    "use --no-boost": "give boost=False",
    "leave out --jobs": "leave out jobs",
    "with --redact": "with redact",
    "p-ref ": "p_ref ",
}
"""What stands for a phrase with an option of a command."""


@contextmanager
def options_as_arguments() -> Iterator[None]:
    """Raise a UsageError that names options of commands with the names of arguments instead."""
    try:
        yield
    except UsageError as error:
        text = str(error)
        for option, argument in _ARGUMENTS.items():
            text = text.replace(option, argument)
        if type(error) is not UsageError or text == str(error):
            raise
        raise UsageError(text) from error


def path(argument: str, given: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder. Raises UsageError if no file system has one of that name."""
    if not isinstance(given, str | bytes | os.PathLike):
        raise TypeError(f"{argument}={given!r}: give a path, not {_kind(given)}")
    text = os.fspath(given)
    if not isinstance(text, str):
        raise TypeError(f"{argument}={given!r}: give the path as text, not as {type(text).__name__}")
    if not text:
        raise UsageError(f"{argument}='': a path cannot be empty; write '.' for the current folder")
    if fault := path_fault(text):
        raise UsageError(f"{argument}={shown(text)}: {fault}")
    return Path(text)


def campaign_folder(argument: str, given: str | os.PathLike[str]) -> Path:
    """Return the path of a campaign, which stays the same when the working folder changes."""
    return path(argument, given).absolute()


def texts(argument: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return a list of texts. Raises UsageError for a single text, which would count as its letters.

    Raises TypeError for what else is no list of texts.
    """
    if isinstance(given, str):
        raise UsageError(f"{argument}={given!r}: give a list of texts: {argument}=[{given!r}]")
    if not isinstance(given, Iterable):
        raise TypeError(f"{argument}={given!r}: give a list of texts, not {_kind(given)}")
    found = tuple(given)
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"{argument} holds {one!r}; give a list of texts")
    return found


def redactions(given: Iterable[str]) -> tuple[str, ...]:
    """Return the words and patterns of `redact`. Raises UsageError if one is not valid."""
    entries = texts("redact", given)
    if fault := fault_of_all(entries):
        raise UsageError(f"redact: {fault}")
    return entries


def count(argument: str, given: int) -> int:
    """Return a number of things. Raises UsageError unless it is a whole number of at least 1."""
    try:
        number = operator.index(given)
    except TypeError:
        number = 0
    if number < 1:
        raise UsageError(f"{argument}={given!r}: use a whole number, 1 or more")
    return number


def number(argument: str, given: float | None) -> float | None:
    """Return a number, or None for none. Raises TypeError for what is neither."""
    if given is None:
        return None
    if not isinstance(given, numbers.Real):
        raise TypeError(f"{argument}={given!r}: give a number, not {_kind(given)}")
    return float(given)


def _kind(given: object) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def reference_settings(campaign: Campaign, given: Mapping[str, Scalar] | None) -> dict[str, Scalar] | None:
    """Return the settings of `reference` with the values of the cases; None to keep the study's.

    A value may be written as in the study, such as ``64KiB``. Raises UsageError if neither the caller nor the
    study names a reference.
    """
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"reference={given!r}: give a mapping, such as {{'network': 'host'}}")
    plan, hide = campaign.plan, campaign.pseudonyms.only
    if given:
        shown = {name: hide(value) if isinstance(value, str) else value for name, value in given.items()}
        return values_of_cases(plan, shown)
    if not plan.reference:
        raise no_reference(plan, "as reference={KEY: VALUE}")
    return None
