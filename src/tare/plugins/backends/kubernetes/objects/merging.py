"""Merge a site's patch into manifests (RFC 7386): one patch for all kinds, or one for each kind. Pure.

A patch for all kinds is merged into each kind as far as possible. Fields that only an MPIJob has are left out
of the Job of a case of one node, and the other way round. The fields that are left out are reported as a
trap.

Example: `merged(job, {"spec": {"suspend": True}})` sets `spec.suspend` of a Job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from tare.core.backend_plugin import OptionsReader
from tare.core.errors import nearest, shown

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
Patch = Mapping[str, object]

KINDS = ("MPIJob", "Job", "Pod")
"""The kinds that a case becomes: on several nodes, on one node, and as a server and a client."""
_PARTS, _FIXED = ("metadata", "spec"), ("apiVersion", "kind")
_IDENTITY = frozenset({"name", "generateName", "namespace", "ownerReferences"})
_OWN_LABELS = ("tare/", "app.kubernetes.io/managed-by")
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


def check_merge(merge: Patch, reader: OptionsReader) -> None:
    """Report every fault of the site's patch to `reader`."""
    by_kind = [name for name in merge if name in KINDS]
    for name, patch in merge.items():
        if name in by_kind and isinstance(patch, dict):
            for part, value in patch.items():
                _check_part(str(part), _PARTS, reader, name, str(part))
                _check_identity(str(part), value, reader, name, str(part))
        elif name in by_kind:
            reader.fault("a patch is a mapping; write {spec: {…}}", "merge", name)
        elif by_kind and name not in _FIXED:
            fault = f"{shown(name)} is beside patches by kind; write it into {by_kind[0]}: {{…}}"
            reader.fault(fault, "merge", name)
        else:
            _check_part(name, (*_PARTS, *KINDS), reader, name)
            _check_identity(name, patch, reader, name)


def _check_part(name: str, known: tuple[str, ...], reader: OptionsReader, *path: str) -> None:
    if name in _FIXED:
        reader.fault("a job of another kind is not Tare's to watch; remove it", "merge", *path)
    elif name not in _PARTS:
        fault = f"{shown(name)} is no part of a manifest; {nearest(name, list(known))}"
        reader.fault(fault, "merge", *path)


def _check_identity(part: str, patch: object, reader: OptionsReader, *path: str) -> None:
    """Report changes of that by which Tare finds its objects again, and deletes no others."""
    if part != "metadata":
        return
    if not isinstance(patch, dict):
        reader.fault("metadata is a mapping; write {annotations: {…}}", "merge", *path)
        return
    labels = patch.get("labels", {})
    if not isinstance(labels, dict):
        reader.fault("labels are a mapping; write {NAME: value}", "merge", *path, "labels")
        return
    changed = [[str(name)] for name in patch if name in _IDENTITY]
    changed += [["labels", str(name)] for name in labels if str(name).startswith(_OWN_LABELS)]
    for one in changed:
        reader.fault("Tare finds its own objects by it; remove it", "merge", *path, *one)


def kind_of(manifest: Json) -> str:
    """Return the kind of a manifest; empty if it has none."""
    return str(manifest.get("kind", "")) if isinstance(manifest, dict) else ""


def merged(manifest: Json, merge: Patch) -> Json:
    """Return a manifest with the site's patch `merge` merged in."""
    kind = kind_of(manifest)
    return merge_patch(manifest, _patch_for(merge, kind)[0]) if merge and kind in KINDS else manifest


def left_out(merge: Patch, documents: Iterable[Json]) -> list[tuple[str, str, str]]:
    """Return the fields of `merge` that do not fit these objects: the field, its kind, and the object's."""
    kinds = [kind for one in documents if (kind := kind_of(one)) in KINDS]
    found = [one for kind in kinds for one in _patch_for(merge, kind)[1]]
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


def _patch_for(merge: Patch, kind: str) -> tuple[Patch, list[tuple[str, str, str]]]:
    """Return the patch for one kind, and the fields that are left out because another kind has them."""
    if merge.keys() <= set(KINDS):
        own = merge.get(kind, {})
        return (own if isinstance(own, dict) else {}), []
    spec = merge.get("spec")
    if not isinstance(spec, dict):
        return merge, []
    foreign = {name: owner for name in spec if (owner := _owner(name)) and not _has(kind, name)}
    kept = {name: value for name, value in spec.items() if name not in foreign}
    return {**merge, "spec": kept}, [(f"spec.{name}", owner, kind) for name, owner in foreign.items()]


def _owner(name: str) -> str:
    return next((kind for kind, names in _OF_KIND.items() if name in names), "")


def _has(kind: str, name: str) -> bool:
    return name in _OF_KIND.get(kind, _OF_PODS_TOO)
