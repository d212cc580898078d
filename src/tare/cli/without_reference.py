"""Find the cases that are compared with nothing, since no reference has the same other settings."""

from __future__ import annotations

from tare.core.plan import Plan


def uncompared_sentences(plan: Plan) -> list[str]:
    """Return a sentence for each such case: how the nearest reference differs from it, and the cure."""
    from tare.analysis.pairs import without_reference

    sentences = []
    for one in without_reference(plan):
        near, own = one.nearest.settings, one.case.settings
        differing = ", ".join(
            f"{name} ({near.get(name, 'unknown')}, not {own.get(name, 'unknown')})" for name in one.differing
        )
        named = " ".join(f"{name}={near[name]}" for name in one.differing if name in near)
        cure = f"; to hold it against that all the same, add {named} to the reference" if named else ""
        sentences.append(
            f"{plan.describe(one.case)} is held against nothing: the nearest reference has other "
            f"{differing}{cure}"
        )
    return sentences
