"""The definitions of kinds that are no part of Kubernetes: MPIJobs, and the networks of Multus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import yaml

from kubelab.prebuilt import Prebuilt

Schema = dict[str, object]

_MANIFESTS = Path(__file__).with_name("manifests")
_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
_KEPT = frozenset({"type", "format", "properties", "items", "additionalProperties", "required", "enum"})
_EMBEDDED_META: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}},
    },
}


def definitions(core: str, prebuilt: Prebuilt) -> Iterator[str]:
    """Yield the definitions as manifests: kubelab's own, unless a `prebuilt` program has its own.

    `core` is the API server's answer at /openapi/v3/api/v1.
    """
    yield json.dumps(yaml.safe_load((_MANIFESTS / "network-attachment-definitions.yaml").read_text()))
    yield from prebuilt.definitions()
    if prebuilt.operator_crd is None:
        yield _mpi_jobs(core)


def _mpi_jobs(core: str) -> str:
    definition = yaml.safe_load((_MANIFESTS / "mpijobs.yaml").read_text())
    schemas = json.loads(core)["components"]["schemas"]
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    replicas = spec["properties"]["mpiReplicaSpecs"]["additionalProperties"]
    replicas["properties"]["template"] = _structural({"$ref": f"/{_TEMPLATE}"}, schemas)
    return json.dumps(definition)


def _structural(schema: Schema, known: dict[str, Schema]) -> Schema:
    """Return a schema that a CustomResourceDefinition accepts: without references and alternatives.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions
    """
    reference = _reference(schema)
    if reference.endswith(".ObjectMeta"):
        return _EMBEDDED_META
    if reference:
        schema = known[reference]
    if "oneOf" in schema or schema.get("format") == "int-or-string":
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    kept = {name: value for name, value in schema.items() if name in _KEPT}
    for name in ("items", "additionalProperties"):
        if isinstance(kept.get(name), dict):
            kept[name] = _structural(cast(Schema, kept[name]), known)
    if "properties" in kept:
        properties = cast(dict[str, Schema], kept["properties"])
        kept["properties"] = {name: _structural(one, known) for name, one in properties.items()}
    return kept


def _reference(schema: Schema) -> str:
    """Return the name of the schema that a schema refers to, directly or as its only part; empty if none."""
    every = schema.get("allOf", [schema])
    target = every[0].get("$ref", "") if isinstance(every, list) else ""
    return str(target).rpartition("/")[2]
