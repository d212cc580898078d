"""The table of promised and measured errors in docs/trust.md is true."""

from __future__ import annotations

import re

import pytest

from truth.rates import BEGIN, END, PAGE, PROMISED, TWO_ERRORS, rates, table

_NUMBER = re.compile(r"(\d+\.\d) %")
_POINTS = 0.3
"""What another processor's arithmetic may change."""


@pytest.mark.slow
def test_no_claim_is_false_more_often_than_promised_and_the_page_says_how_often() -> None:
    found = list(rates())
    for one in found:
        assert max(one.claims) <= PROMISED + TWO_ERRORS, one
        assert one.misses <= 0.07, one
    page = PAGE.read_text()
    told = page[page.index(BEGIN) : page.index(END)].splitlines()
    made = table(found).splitlines()[: len(told)]
    assert len(told) == len(made)
    for line, ours in zip(told, made, strict=True):
        assert _NUMBER.sub("", line) == _NUMBER.sub("", ours)
        numbers, own = (list(map(float, _NUMBER.findall(text))) for text in (line, ours))
        assert all(abs(a - b) <= _POINTS for a, b in zip(numbers, own, strict=True)), line
