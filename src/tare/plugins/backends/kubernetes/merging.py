"""Merge a site's patch into manifests (RFC 7386): one patch for all kinds, or one for each kind. Pure.

A patch for all kinds is merged into each kind as far as possible. Fields that only an MPIJob has are left out
of the Job of a case of one node, and the other way round. The fields that are left out are reported as a
trap.

Example: `merged(job, '{"spec": {"suspend": true}}')` sets `spec.suspend` of a Job.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import msgspec

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

KINDS = ("MPIJob", "Job", "Pod")
_OF_KIND = {
    "MPIJob": frozenset({
        "slotsPerWorker", "runLauncherAsWorker", "sshAuthMountPath", "launcherCreationPolicy",
        "mpiImplementation", "runPolicy", "mpiReplicaSpecs",
    }),
    "Job": frozenset({
        "activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completionMode", "completions",
        "manualSelector", "maxFailedIndexes", "parallelism", "podFailurePolicy", "podReplacementPolicy",
        "selector", "successPolicy", "suspend", "template", "ttlSecondsAfterFinished",
    }),
}  # fmt: skip
"""The fields of a spec that one kind has, and the others do not (kubeflow.org/v2beta1, batch/v1)."""
_OF_PODS_TOO = frozenset({"activeDeadlineSeconds"})


def merged(manifest: Json, merge: str) -> Json:
    """Return a manifest with the site's patch `merge` (JSON) merged in; an empty text is no patch."""
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if not merge or kind not in KINDS:
        return manifest
    return merge_patch(manifest, _patch_for(merge, str(kind))[0])


def left_out(merge: str, kinds: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return the fields of `merge` that fit none of these kinds: the field, its kind, and the other kind."""
    found = [one for kind in kinds if merge and kind in KINDS for one in _patch_for(merge, kind)[1]]
    return list(dict.fromkeys(found))


def merge_patch(target: Json, patch: object) -> Json:
    """Return `target` with `patch` merged in (RFC 7386): null removes a field, and lists are replaced."""
    if not isinstance(patch, dict):
        return cast(Json, patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def _patch_for(merge: str, kind: str) -> tuple[dict[str, object], list[tuple[str, str, str]]]:
    """Return the patch for one kind, and the fields that are left out because another kind has them."""
    whole = msgspec.json.decode(merge, type=dict[str, object])
    if whole and whole.keys() <= set(KINDS):
        own = whole.get(kind, {})
        return (own if isinstance(own, dict) else {}), []
    spec = whole.get("spec")
    if not isinstance(spec, dict):
        return whole, []
    foreign = {name: owner for name in spec if (owner := _owner(name)) and not _has(kind, name)}
    kept = {name: value for name, value in spec.items() if name not in foreign}
    told = [(f"spec.{name}", owner, kind) for name, owner in foreign.items()]
    return whole | {"spec": kept}, told


def _owner(name: str) -> str:
    return next((kind for kind, names in _OF_KIND.items() if name in names), "")


def _has(kind: str, name: str) -> bool:
    return name in _OF_KIND.get(kind, _OF_PODS_TOO)
