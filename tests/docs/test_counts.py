"""Sentences have one run, not 1 runs: counts are written by tare.core.counting.count."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tare
from tare.core.counting import count

_SOURCE = Path(tare.__file__).parent
_NOUNS = (
    "run node host case block rank job pod file sample point platform slot core partition module line key "
    "row byte campaign thread time level figure program value size message warning finding session folder "
    "thing result combination comparison device stage pair link port container image fault error entry "
    "event step test number word character column record measurement package argument interval curve cell "
    "socket minute"
)
_BETWEEN = "(?:(?:more|other|such|planned|measured|new|warm-up) )?"
_PLURAL = re.compile(rf" {_BETWEEN}(?:{'|'.join(_NOUNS.split())})s\b")
_IS_COUNT = re.compile(
    r"len\(|sum\(|max\(|min\(|(?:\w+\.)*_?(?:n_\w+|nodes|ranks|threads|slots|cores|minutes|n_blocks)$"
)
"""Expressions whose values are counts; others, such as the name of a program that "runs it", are none."""


def test_one_of_a_thing_is_not_in_the_plural() -> None:
    assert [count(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert count(1, "case has", "cases have") == "1 case has"
    assert count(100_000, "run", is_grouped=True) == "100,000 runs"


def test_no_sentence_writes_a_count_before_a_plural_itself() -> None:
    found = [
        f"{path.relative_to(_SOURCE)}:{line}: {text}"
        for path in sorted(_SOURCE.rglob("*.py"))
        for line, text in own_counts(path.read_text())
    ]
    assert not found, "\n".join([*found, "write {count(n, 'run')}, of tare.core.counting"])


@pytest.mark.parametrize(
    ("text", "is_fault"),
    [
        ("f'{n_runs} runs are left'", True),
        ("f'{len(hosts)} other hosts'", True),
        ("'1 run' if n == 1 else f'{n_runs} runs'", False),
        ("f'{name} runs it'", False),
    ],
)
def test_a_count_before_a_plural_is_told_from_a_verb(text: str, is_fault: bool) -> None:
    assert bool(list(own_counts(text))) is is_fault


def own_counts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of texts in which a count stands before a plural, and the count with it.

    One that is written only where the count is not one is none of them.
    """
    tree = ast.parse(source)
    guarded = {id(one) for node in ast.walk(tree) if isinstance(node, ast.IfExp) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in guarded:
            for value, text in zip(node.values, node.values[1:], strict=False):
                if (
                    isinstance(value, ast.FormattedValue)
                    and isinstance(text, ast.Constant)
                    and not value.format_spec
                ):
                    shown, after = ast.unparse(value.value), _PLURAL.match(str(text.value))
                    if after and _IS_COUNT.match(shown):
                        yield node.lineno, f"{{{shown}}}{after[0]}"
