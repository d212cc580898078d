"""The table of false claims on scatter and telemetry in docs/trust.md is true."""

from __future__ import annotations

import re

import pytest

from truth.other_rates import BEGIN, END, N_STUDIES, rows, table
from truth.rates import PAGE, PROMISED

_NUMBER = re.compile(r"(\d+\.\d) %")
_POINTS = {str(n): 250 / n for n in N_STUDIES.values()}
"""What another processor's arithmetic may change, by the number of studies: a few of them."""


@pytest.mark.slow
def test_scatter_and_reasons_are_falsely_claimed_as_seldom_as_promised_and_the_page_says_how_often() -> None:
    found = list(rows())
    for *_, n, share in found:
        assert share <= PROMISED + 3 * (PROMISED * (1 - PROMISED) / n) ** 0.5
    page = PAGE.read_text()
    told = page[page.index(BEGIN) : page.index(END) + len(END)].splitlines()
    for line, ours in zip(told, table(found).splitlines(), strict=True):
        assert _NUMBER.sub("", line) == _NUMBER.sub("", ours)
        for one, own in zip(_NUMBER.findall(line), _NUMBER.findall(ours), strict=True):
            assert abs(float(one) - float(own)) <= _POINTS[line.split(" | ")[3]], line
