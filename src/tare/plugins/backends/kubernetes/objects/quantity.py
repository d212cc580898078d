"""Parse and print Kubernetes quantities: ``250m`` CPUs, ``64Gi`` of memory.

Source: k8s.io/apimachinery, resource.Quantity.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

_FORM = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,9})?)(?:[eE]([+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]))?")
_UNITS = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 10**3),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip


def parse_quantity(text: str) -> Fraction | None:
    """Return a quantity in CPUs, bytes or pieces; None for text that is no quantity."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    number, exponent, unit = found.groups()
    return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else _UNITS.get(unit, Fraction(1)))


def show_quantity(amount: Fraction) -> str:
    """Return an amount in Kubernetes' form: a whole number, with a binary unit or one of fractions.

    It is exact down to 10⁻⁹, to which Kubernetes rounds up.
    """
    if amount.denominator != 1:
        unit = next((one for one in ("m", "u") if (amount / _UNITS[one]).denominator == 1), "n")
        return f"{math.ceil(amount / _UNITS[unit])}{unit}"
    whole = int(amount)
    for unit in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        size = int(_UNITS[unit])
        if whole and whole % size == 0:
            return f"{whole // size}{unit}"
    return str(whole)
