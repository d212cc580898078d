"""Quantities of Kubernetes (resource.Quantity) are read and shown exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity, show_quantity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("2", 2),
        ("250m", Fraction(1, 4)),
        ("5u", Fraction(5, 10**6)),
        ("7n", Fraction(7, 10**9)),
        ("1.5", Fraction(3, 2)),
        ("1k", 1000),
        ("3M", 3_000_000),
        ("1G", 10**9),
        ("2T", 2 * 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 1024),
        ("1.5Mi", 3 * 2**19),
        ("64Gi", 2**36),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("12e6", 12_000_000),
        ("5E-1", Fraction(1, 2)),
    ],
)
def test_each_suffix_has_its_factor(text: str, expected: Fraction | int) -> None:
    assert parse_quantity(text) == expected


@pytest.mark.parametrize("text", ["", "m", "-1", "1 Gi", "1Kb", "1K", "1e3Gi", "nan", "٣", "1.2.3"])
def test_what_is_no_quantity_is_none(text: str) -> None:
    assert parse_quantity(text) is None


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (Fraction(3, 2), "1500m"),
        (Fraction(2001, 2), "1000500m"),
        (Fraction(1, 10**6), "1u"),
        (Fraction(1, 3), "333333334n"),
        (Fraction(0), "0"),
        (Fraction(2**36), "64Gi"),
        (Fraction(1023), "1023"),
    ],
)
def test_an_amount_is_shown_in_the_form_of_kubernetes(amount: Fraction, expected: str) -> None:
    assert show_quantity(amount) == expected


@given(n=st.integers(0, 10**15), unit=st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_what_is_shown_is_the_amount(n: int, unit: int) -> None:
    assert parse_quantity(show_quantity(Fraction(n, unit))) == Fraction(n, unit)
