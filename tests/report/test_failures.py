"""Why a part of a report could not be made is said with the cure, where memory was lacking."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool

import pytest

from tare.report.words.failures import failure_words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "too little memory; free some, or raise its limit (ulimit -v, or of its job)"),
        (
            BrokenProcessPool("A child process terminated abruptly, the process pool is not usable anymore"),
            "the process that draws it was ended, as for lack of memory (ulimit -v, or of its job)",
        ),
        (OSError("no socket"), "OSError: no socket"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_failure_is_said_with_what_may_mend_it(error: Exception, words: str) -> None:
    assert failure_words(error) == words
