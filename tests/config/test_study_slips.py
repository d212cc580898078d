"""Slips in study files: a key without its value, and workloads under the wrong key."""

# ruff: noqa: E501 - messages stand whole, as a user reads them

from __future__ import annotations

import pytest

from config.study_doubles import faults_of

HEAD = "study: s\nworkload: hpcg\n"
MINE = "{command: 'x {n}', parameters: {n: 3}, foms: [{name: t, unit: s, better: lower, regex: '([0-9]+)'}]}"
DECLARED = (
    "'workload' names a workload, and 'mine' is declared here; declare it under 'workloads', and write only its "
    "name here"
)


@pytest.mark.parametrize(
    "key", ["nodes", "ranks", "threads", "bind", "args", "wrapper", "executable", "seed", "margin"]
)
def test_a_key_whose_value_is_missing_is_not_taken_for_absent(key: str) -> None:
    (fault,) = faults_of(f"{HEAD}{key}:\n")
    assert fault.startswith(f"study.yaml:3:{len(key) + 2}: {key}: ")
    assert fault.endswith((f"{key!r} has no value; write one, or remove the line", "not nothing"))


def test_a_value_that_is_missing_deeper_down_is_not_taken_for_absent() -> None:
    (fault,) = faults_of(f"{HEAD}repeats:\n  min: 3\n  until:\n")
    assert fault == "study.yaml:5:9: repeats.until: 'until' has no value; write one, or remove the line"


def test_a_value_of_nothing_that_is_written_is_none() -> None:
    assert faults_of(f"{HEAD}args: null\nseed: ~\n") == []


def test_a_setting_without_a_value_does_not_take_its_level_away() -> None:
    faults = faults_of(
        f"{HEAD}factors:\n  size: [{{name: small, nodes: , ranks: 2}}, {{nodes: 2, ranks: ~}}]\n"
    )
    assert faults == [
        "study.yaml:4:31: factors.size[0].nodes: expected a value of 'nodes' or a list of them, not nothing",
        "study.yaml:4:62: factors.size[1].ranks: expected a value of 'ranks' or a list of them, not nothing",
    ]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        (f"study: s\nworkload: {{mine: {MINE}}}\n", "2:12: workload.mine"),
        (
            f"study: s\nfactors: {{workload: [{{mine: {MINE}}}], n: [1, 2]}}\n",
            "2:23: factors.workload[0].mine",
        ),
    ],
)
def test_a_workload_that_is_declared_where_one_is_named_is_one_fault_with_the_cure(
    text: str, position: str
) -> None:
    assert faults_of(text) == [f"study.yaml:{position}: {DECLARED}"]


@pytest.mark.parametrize(
    ("value", "cure"),
    [
        ("hpcg", "'workload: hpcg'"),
        ("[hpcg]", "'workload: hpcg'"),
        ("[hpcg, hpl]", "'factors: {workload: [hpcg, hpl]}'"),
    ],
)
def test_workloads_that_are_named_where_they_are_declared_are_one_fault_with_the_cure(
    value: str, cure: str
) -> None:
    assert faults_of(f"study: s\nworkloads: {value}\nnodes: 2\n") == [
        f"study.yaml:2:12: workloads: 'workloads' declares workloads of the study's own; to name others, write {cure}"
    ]


@pytest.mark.parametrize(
    "key", ["args", "wrapper", "executable", "nodes", "ranks", "threads", "bind", "platform"]
)
def test_a_setting_of_cases_where_a_workload_is_declared_is_one_fault_with_the_cure(key: str) -> None:
    declared = f"workloads:\n  mine:\n    {key}: 2\n    command: x\n    foms: []\n"
    assert faults_of(f"study: s\nworkload: mine\n{declared}") == [
        f"study.yaml:5:5: workloads.mine.{key}: '{key}' is a setting of cases, and workloads are declared without "
        f"it; write it at the top of the study, or for this workload alone 'workload: {{mine: {{{key}: …}}}}'"
    ]
