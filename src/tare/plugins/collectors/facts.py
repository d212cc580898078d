"""Collect facts about one node from all sources.

Each module in this folder with a `SOURCE` is a source, so a new source is one new file. Another package
registers such a module under the entry point group ``tare.fact_sources``.
"""

from __future__ import annotations

import functools

from tare.core.entry_points import installed, modules
from tare.core.errors import UsageError
from tare.plugins.collectors import probe
from tare.plugins.collectors.source import Answers, Facts, Source, Subject

_FOLDER, _GROUP = "tare.plugins.collectors", "tare.fact_sources"


@functools.cache
def sources() -> tuple[Source, ...]:
    """Return all sources in the order in which a node is queried.

    Raises UsageError if a registered module is not a source.
    """
    found = {name: getattr(one, "SOURCE", None) for name, one in modules(_FOLDER, _GROUP).items()}
    for name in installed(_GROUP):
        if not isinstance(found[name], Source):
            raise UsageError(
                f"source of facts {name} has no SOURCE; mend or uninstall the package that it comes from"
            )
    known = [one for one in found.values() if isinstance(one, Source)]
    return tuple(sorted(known, key=lambda one: (one.order, one.name)))


def facts_script(subject: Subject) -> str:
    """Return the shell script that queries a node for all facts about it and `subject`."""
    return probe.probe_script(sources(), subject)


def collect_facts(answers: Answers) -> Facts:
    """Return the facts in the `answers` of one node."""
    return probe.read_facts(sources(), answers)
