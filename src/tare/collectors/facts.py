"""Facts about one node, from every source that there is."""

from __future__ import annotations

from tare.collectors import (
    cpu,
    kernel,
    limits,
    memory,
    mpi,
    nics,
    pods,
    priority,
    probe,
    programs,
    services,
    variables,
)
from tare.collectors.source import Answers, Facts, Source, Subject

SOURCES: tuple[Source, ...] = (
    kernel.SOURCE,
    cpu.SOURCE,
    memory.SOURCE,
    nics.SOURCE,
    limits.SOURCE,
    priority.SOURCE,
    services.SOURCE,
    pods.SOURCE,
    variables.SOURCE,
    mpi.SOURCE,
    programs.SOURCE,
)
"""In the order in which a node is asked."""


def facts_script(subject: Subject) -> str:
    """Return the shell script that asks a node for all facts about it and `subject`."""
    return probe.probe_script(SOURCES, subject)


def collect_facts(answers: Answers) -> Facts:
    """Return the facts in the `answers` of one node."""
    return probe.read_facts(SOURCES, answers)
