"""The section on planned runs that are not measured."""

from __future__ import annotations

from tare.report.section import own_section

SECTION = own_section(__file__, "What is missing?", after="trust", make=lambda facts: facts.account)
