"""The manifests of each situation: reviewed as diffs of goldens/*.yaml, valid, and free of traps.

Write them anew with: UPDATE_GOLDENS=1 pytest tests/backends/kubernetes
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import jsonschema
import msgspec
import pytest

from backends.kubernetes.situations import BASE, MACVLAN, SITUATIONS, SOLVER
from tare.core.case import Layout
from tare.core.errors import UsageError
from tare.plugins.backends.kubernetes.manifests.lint import lint
from tare.plugins.backends.kubernetes.manifests.rendering import render, roles_of
from tare.plugins.backends.kubernetes.manifests.script import files_of, input_keys
from tare.plugins.backends.kubernetes.manifests.showing import as_yaml
from tare.plugins.backends.kubernetes.objects.created import ConfigMap, PodSpec
from tare.plugins.backends.kubernetes.objects.merging import Json, merge_patch
from tare.probes.placement import SCRIPT, with_files

HERE = Path(__file__).parent
SCHEMAS = json.loads((HERE / "api.schema.json").read_text())


def shown(documents: list[Json]) -> str:
    """Return documents as YAML; of a task's script what is its own, of the others their names."""
    probe = with_files(SOLVER).files[SCRIPT]
    for one in documents:
        assert isinstance(one, dict)
        data = one.get("data")
        if one["kind"] == "ConfigMap" and isinstance(data, dict):
            for name in ("account.sh", "probe.sh", "prepare.sh", "rank.sh"):
                data[name] = f"(scripts/{name})"
            data |= {name: f"({SCRIPT})" for name, text in data.items() if text == probe}
            script = str(data["task.sh"])
            data["task.sh"] = script.split("\n# Send the results")[0] + script.rsplit(" TERM\n", 1)[1]
            meta = one["metadata"]
            assert isinstance(meta, dict)
            meta["name"] = "(by content)"
    return as_yaml(documents)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_manifests_are_the_golden_ones(name: str) -> None:
    documents = SITUATIONS[name].documents()
    config = documents[0]["metadata"]["name"]  # type: ignore[index,call-overload]  # JSON of a known form
    text = shown(documents).replace(str(config), "(by content)")
    golden = HERE / "goldens" / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_every_golden_is_of_a_situation() -> None:
    assert {path.stem for path in (HERE / "goldens").iterdir()} == SITUATIONS.keys()


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_manifests_have_no_field_that_the_api_does_not_know(name: str) -> None:
    for document in SITUATIONS[name].documents():
        assert isinstance(document, dict)
        jsonschema.validate(document, {"$ref": f"#/$defs/{document['kind']}", "$defs": SCHEMAS["$defs"]})


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_manifests_walk_into_no_trap(name: str) -> None:
    assert lint(SITUATIONS[name].documents()) == []


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_pod_has_two_volumes_of_one_claim(name: str) -> None:
    """A kubelet mounts one of them, and waits for the other until the pod is deleted."""
    for role in roles_of(SITUATIONS[name].documents()):
        volumes = msgspec.convert(role.spec, PodSpec).volumes
        claims = [one.persistent_volume_claim.claim_name for one in volumes if one.persistent_volume_claim]
        assert len(claims) == len(set(claims))


def test_the_schema_sees_a_misspelt_field() -> None:
    document = merge_patch(BASE.documents()[1], {"spec": {"slotPerWorker": 2}})
    with pytest.raises(jsonschema.ValidationError, match="slotPerWorker"):
        jsonschema.validate(document, {"$ref": "#/$defs/MPIJob", "$defs": SCHEMAS["$defs"]})


def test_runs_of_a_case_share_their_files_and_have_a_job_each() -> None:
    first, second = (render(BASE.task(Path(f"/c/attempts/ab12/{run}")), "", {}) for run in ("1.1", "2.1"))
    assert first.shared == second.shared
    assert first.job.metadata.name == "tare-ca-ab12-1-1"
    assert second.job.metadata.name == "tare-ca-ab12-2-1"


def test_another_input_is_another_config_map() -> None:
    one, other = (render(BASE.task(), "", {"a": text}).shared[0].metadata.name for text in "12")
    assert one != other


def test_an_allocation_of_one_node_is_a_plain_job() -> None:
    job = render(BASE._replace(layout=Layout(ranks=1)).task(), "", {}).job
    assert job.KIND == "Job"


def test_inputs_that_no_config_map_holds_are_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "mesh").write_bytes(bytes(10**6))
    with pytest.raises(UsageError, match=r"more than a ConfigMap holds.*work: \{claim"):
        files_of(BASE.task(tmp_path))


def test_inputs_are_in_a_config_map_byte_for_byte_whether_they_are_text_or_not(tmp_path: Path) -> None:
    contents = {"dos.txt": b"a\r\nb\r\n", "mesh": b"\xff\xfe\0", ".hidden": b"1\n"}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    task = BASE.task(tmp_path)
    rendered = render(task, "", files_of(task))
    document = rendered.documents[0]
    assert isinstance(document, dict)
    jsonschema.validate(document, {"$ref": "#/$defs/ConfigMap", "$defs": SCHEMAS["$defs"]})
    config = rendered.shared[0]
    assert isinstance(config, ConfigMap)
    held = {key: text.encode() for key, text in config.data.items()}
    held |= {key: base64.b64decode(text) for key, text in config.binary_data.items()}
    assert {path: held[key] for key, path in input_keys(contents).items()} == contents


def test_the_own_record_of_the_command_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "command.json").write_text("[]")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "mesh.txt").write_text(SOLVER.files["in/mesh.txt"])
    assert files_of(BASE.task(tmp_path)) == SOLVER.files


def test_a_patch_removes_what_is_null_and_replaces_lists() -> None:
    assert merge_patch({"a": 1, "b": [1, 2], "c": {"d": 1}}, {"a": None, "b": [3], "c": {"e": 2}}) == {
        "b": [3],
        "c": {"d": 1, "e": 2},
    }


def test_only_workers_ask_for_the_data_network() -> None:
    document = BASE._replace(network=MACVLAN).documents()[-1]
    text = json.dumps(document)
    assert text.count("k8s.v1.cni.cncf.io/networks") == 1
