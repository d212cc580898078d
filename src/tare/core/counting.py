"""Counts in sentences. Every sentence that may have one of a thing has its count from here."""

from __future__ import annotations


def count(n: int, noun: str, plural: str | None = None, *, is_grouped: bool = False) -> str:
    """Return a count with its noun: ``1 run``, ``3 runs``; if `is_grouped`, ``100,000 runs``."""
    return f"{n:{',' if is_grouped else ''}} {noun if n == 1 else plural or noun + 's'}"


def node_hours(amount: float, digits: int = 15) -> str:
    """Return an amount of node-hours, rounded to `digits`: ``1 node-hour``, ``0.25 node-hours``."""
    text = f"{float(f'{amount:.{digits}g}'):.15g}"
    return f"{text} {'node-hour' if text == '1' else 'node-hours'}"


def every(n: int) -> str:
    """Return ``all 3`` as English has it: ``both`` of two."""
    return "both" if n == 2 else f"all {n}"
