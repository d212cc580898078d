"""Say errors in terms of Python: who calls `run_study` has arguments, where a command has options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tare.core.errors import UsageError

_ARGUMENTS = {
    "another --out": "another folder",
    "add --extend": "give extend=True",
    "tare run --no-rehearsal": "rehearsal=False",
    "use --no-boost": "give boost=False",
    "leave out --jobs": "leave out jobs",
    "with --redact": "with redact",
}
"""What stands for a phrase with an option of `tare run`."""


@contextmanager
def options_as_arguments() -> Iterator[None]:
    """Raise a UsageError that names options of `tare run` with the names of arguments instead."""
    try:
        yield
    except UsageError as error:
        text = str(error)
        for option, argument in _ARGUMENTS.items():
            text = text.replace(option, argument)
        if type(error) is not UsageError or text == str(error):
            raise
        raise UsageError(text) from error
