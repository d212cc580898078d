"""Decide which nodes a pod may be on, by its node selector and its required node affinity (core/v1). Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON
from tare.plugins.backends.kubernetes.objects.created import Requirement
from tare.plugins.backends.kubernetes.objects.observed import SeenPodSpec

_KNOWN = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """Part of a pod's affinity; other parts are ignored."""


class _Term(_Part, frozen=True):
    match_expressions: list[Requirement] = []


class _Terms(_Part, frozen=True):
    node_selector_terms: list[_Term] = []


class _NodeAffinity(_Part, frozen=True):
    required_during_scheduling_ignored_during_execution: _Terms | None = None


class _Affinity(_Part, frozen=True):
    node_affinity: _NodeAffinity | None = None


def selects(pod: SeenPodSpec, labels: Mapping[str, str]) -> bool:
    """Return whether a pod may be on a node with these labels.

    Conditions that are no conditions on labels, or compare numbers, count as met.
    """
    if not pod.node_selector.items() <= labels.items():
        return False
    try:
        affinity = decode_json(pod.affinity, type=_Affinity | None)
    except NOT_JSON:
        return True
    of_nodes = affinity.node_affinity if affinity else None
    required = of_nodes.required_during_scheduling_ignored_during_execution if of_nodes else None
    return required is None or any(_holds(one, labels) for one in required.node_selector_terms)


def _holds(term: _Term, labels: Mapping[str, str]) -> bool:
    return all(one.operator not in _KNOWN or one.holds(labels.get(one.key)) for one in term.match_expressions)
