"""What a run says at its end of the runs that do not count."""

from __future__ import annotations

from collections import Counter

from tare.cli.commands.run import most_frequent


def test_the_reasons_that_are_not_shown_are_counted() -> None:
    reasons = Counter({f"failed: exit code {code}": 10 - code for code in range(7)})
    assert list(most_frequent(reasons, 5)) == [
        "10 × failed: exit code 0",
        "9 × failed: exit code 1",
        "8 × failed: exit code 2",
        "7 × failed: exit code 3",
        "6 × failed: exit code 4",
        "… and 2 more reasons, of 9 runs",
    ]


def test_nothing_is_added_where_all_reasons_are_shown() -> None:
    assert list(most_frequent(Counter({"failed: exit code 1": 2}), 5)) == ["2 × failed: exit code 1"]
