"""The section on planned runs that are not measured."""

from __future__ import annotations

from pathlib import Path

from tare.report.section import LAST, Section

SECTION = Section(
    "missing",
    "What is missing?",
    after="trust",
    make=lambda facts: facts.account,
    order=LAST,
    template=Path(__file__).with_suffix(".html"),
)
