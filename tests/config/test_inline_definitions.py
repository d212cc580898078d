"""Workloads that a study declares."""

# ruff: noqa: E501 - messages stand whole, as a user reads them
from __future__ import annotations

import pytest

from config.study_doubles import DOUBLE_SITE, double_catalogue, faults_of, read_study
from tare.config import study_from_text
from tare.core.errors import UsageError
from tare.core.study import Study
from tare.core.workload import (
    Better,
    Fom,
    InlineCheck,
    InlineDefinition,
    InlineFom,
    Parameter,
    ParameterKind,
    QuestionKind,
)

STREAM = r"""
study: s
factors:
  workload:
    - stream: {size: [1MiB, 2MiB], repeat: 3}
workloads:
  stream:
    summary: Memory bandwidth
    command: stream --size "{size}" -n {repeat} '{{x}}'
    env: {OMP_NUM_THREADS: "{threads}", SHOW: 1}
    files: {in/x.dat: "text"}
    parameters:
      size: {kind: bytes, default: 64KiB, choices: [64KiB, 1MiB, 2MiB], summary: Array}
      repeat: 10
      mode: {kind: text}
    foms:
      - {name: triad, unit: MB/s, better: higher, regex: 'Triad +([0-9.]+) +(?P<array>\w+)', by: array}
      - {name: copy, unit: MB/s, better: higher, json: result.copy}
    checks:
      - {matches: Validates}
      - {lacks: ERROR}
    output: out.json
    mpi: true
"""

MINIMAL = "study: s\nworkload: w\nworkloads:\n  w:\n    command: run\n    foms: [{name: t, unit: s, better: lower, json: t}]\n"

SEEDED = "study: s\nfactors: {workload: [w], seed_of: [LEVELS]}\nworkloads:\n  w:\n    command: run {seed_of}\n    parameters: {seed_of: 1}\n    foms: [{name: t, unit: s, better: lower, json: t}]\n"


def test_a_whole_number_is_kept_to_its_last_digit() -> None:
    levels = (9007199254740993, 1234567890123456789, 9223372036854775807, -9223372036854775807, 10**18)
    written = ["1e18" if level == 10**18 else str(level) for level in levels]
    study = read_study(SEEDED.replace("LEVELS", ", ".join(written)))
    assert tuple(level.settings["seed_of"] for level in study.factors[1].levels) == levels


@pytest.mark.parametrize(
    "seed", ["12345678901234567891", "18446744073709551615", "1e30", "-9223372036854775809"]
)
def test_a_whole_number_that_no_table_holds_is_refused_instead_of_rounded(seed: str) -> None:
    assert faults_of(SEEDED.replace("LEVELS", seed)) == [
        f"study.yaml:2:36: factors.seed_of[0]: {seed} is too large for a whole number; use at most "
        "9223372036854775807, or 'kind: text' for seed_of if it is a name or a seed"
    ]


def test_a_declared_workload_becomes_a_definition() -> None:
    study = read_study(STREAM)
    assert study.workloads == (
        InlineDefinition(
            name="stream",
            summary="Memory bandwidth",
            command=("stream", "--size", "{size}", "-n", "{repeat}", "{{x}}"),
            env={"OMP_NUM_THREADS": "{threads}", "SHOW": "1"},
            files={"in/x.dat": "text"},
            parameters=(
                Parameter(
                    name="size",
                    kind=ParameterKind.BYTES,
                    default=65536,
                    choices=(65536, 1048576, 2097152),
                    summary="Array",
                ),
                Parameter(name="repeat", kind=ParameterKind.WHOLE, default=10, summary=""),
                Parameter(name="mode", kind=ParameterKind.TEXT, default=None, summary=""),
            ),
            foms=(
                InlineFom(
                    fom=Fom(name="triad", unit="MB/s", better=Better.HIGHER, by=("array",), is_primary=True),
                    regex=r"Triad +([0-9.]+) +(?P<array>\w+)",
                ),
                InlineFom(fom=Fom(name="copy", unit="MB/s", better=Better.HIGHER), json="result.copy"),
            ),
            checks=(InlineCheck(matches="Validates"), InlineCheck(lacks="ERROR")),
            output="out.json",
            is_mpi=True,
            needs_transport=True,
        ),
    )
    assert [level.settings["size"] for level in study.factors[0].levels] == [1048576, 2097152]


def test_a_figure_of_a_declared_workload_may_say_what_it_answers() -> None:
    text = MINIMAL.replace("json: t}", "json: t, answers: [storage, platform]}")
    (fom,) = read_study(text).workloads[0].foms
    assert fom.fom.answers == (QuestionKind.STORAGE, QuestionKind.PLATFORM)


def test_a_workload_without_mpi_needs_no_network_unless_declared() -> None:
    assert not read_study(MINIMAL).workloads[0].needs_transport
    assert read_study(MINIMAL + "    needs_transport: true\n").workloads[0].needs_transport


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("command: run", "command: run | tee x", "study.yaml:5:14: workloads.w.command: '|' needs a shell, and no shell runs this; call a script, or write the command as a list if it is an argument"),
        ("command: run", "command: run {siez}", "study.yaml:5:14: workloads.w.command: '{siez}' is neither a parameter nor a setting; use one of work, storage, storage_path, hosts, workload, platform, network, nodes, ranks, ranks_per_node, threads, bind, …"),
        ("command: run", "command: awk '{print $1}'", "study.yaml:5:14: workloads.w.command: a single '{' stands for nothing; write '{{' for the character\nstudy.yaml:5:14: workloads.w.command: a single '}' stands for nothing; write '}}' for the character"),
        ("command: run", "command: run {n}\n    parameters: {n: [1, 2]}", "study.yaml:6:21: workloads.w.parameters.n: expected a value or a mapping, not a list"),
        ("command: run", "command: ~/bin/run", "study.yaml:5:14: workloads.w.command: no shell expands '~/bin/run'; write the whole path, or a name that is on PATH"),
        ("command: run", "command: true", "study.yaml:5:14: workloads.w.command: expected text or a list such as stream --size {size}, not true; put it in quotes if it is text"),
        ("command: run", "command: run\n    files: {run.sh: 'echo ${HOME}'}", "study.yaml:6:21: workloads.w.files.run.sh: '{HOME}' is neither a parameter nor a setting; use one of work, storage, storage_path, hosts, workload, platform, network, nodes, ranks, ranks_per_node, threads, bind, …"),
        ("command: run", "command: run\n    env: {A: '{'}", "study.yaml:6:14: workloads.w.env.A: a single '{' stands for nothing; write '{{' for the character"),
        ("command: run", "command: run {work}\n    parameters: {work: 3}", "study.yaml:6:24: workloads.w.parameters.work: 'work' cannot be the name of a parameter; use letters, digits and _, and none of workload, platform, network, storage, nodes, ranks, ranks_per_node, threads, bind, io, work, storage_path, hosts"),
        ("    foms: [{name: t, unit: s, better: lower, json: t}]\n", "", "study.yaml:5:5: workloads.w: 'foms' is missing; add foms: [{name: triad, unit: MB/s, better: higher, regex: 'Triad: *([0-9.]+)'}]"),
        ("command: run", "command: []", "study.yaml:5:14: workloads.w.command: the command is empty; write a program and its arguments"),
        ("command: run", "command: run 'x", "study.yaml:5:14: workloads.w.command: No closing quotation; close the quotes, or write the command as a list"),
        ("    command: run\n", "", "study.yaml:5:5: workloads.w: 'command' is missing; add 'command: stream --size {size}'"),
        (", json: t", "", "study.yaml:6:12: workloads.w.foms[0]: a figure of merit is read by 'regex', 'json' or 'csv'; give one of them"),
        ("json: t", "regex: '(x'", "study.yaml:6:53: workloads.w.foms[0].regex: '(x' is not a regex: missing ), unterminated subpattern at position 0; see Python's re"),
        ("json: t", "regex: 'x'", "study.yaml:6:53: workloads.w.foms[0].regex: the regex has no group; put the number in brackets, as in 'Triad: *([0-9.]+)'"),
        ("json: t", "regex: '(x)', by: [n]", "study.yaml:6:53: workloads.w.foms[0].regex: the regex has no group 'n'; name one with (?P<n>…)"),
        ("json: t", "json: t, by: [n]", "study.yaml:6:59: workloads.w.foms[0].by: coordinates are named groups of a regex, or columns of a table; use 'regex' or 'csv', or drop 'by'"),
        ("json: t}", "json: t}, {name: t, unit: s, better: lower, json: u}", "study.yaml:6:63: workloads.w.foms[1].name: figure of merit 't' is there twice; rename one"),
        ("name: t,", "name: telemetry.cpu,", "study.yaml:6:19: workloads.w.foms[0].name: names in telemetry. are those of telemetry; rename it"),
        ("better: lower", "better: low", "study.yaml:6:39: workloads.w.foms[0].better: 'low' is unknown here; did you mean 'lower'?"),
        ("command: run", "command: run\n    output: ../x", "study.yaml:6:13: workloads.w.output: '../x' is outside the working folder; use a relative name inside it"),
        ("command: run", "command: run\n    files: {/etc/x: y}", "study.yaml:6:21: workloads.w.files.'/etc/x': '/etc/x' is outside the working folder; use a relative name inside it"),
        ("command: run", "command: run\n    checks: [{}]", "study.yaml:6:14: workloads.w.checks[0]: a check 'matches' or 'lacks' a regex; give one of them"),
        ("command: run", "command: run\n    parameters: {nodes: 3}", "study.yaml:6:25: workloads.w.parameters.nodes: 'nodes' cannot be the name of a parameter; use letters, digits and _, and none of workload, platform, network, storage, nodes, ranks, ranks_per_node, threads, bind, io, work, storage_path, hosts"),
        ("command: run", "command: run\n    parameters: {n: {kind: bytes, default: big}}", "study.yaml:6:44: workloads.w.parameters.n.default: 'big' is not a quantity; write a number and a unit, such as 64KiB"),
    ],
)  # fmt: skip
def test_a_broken_declaration_is_reported_with_position_and_cure(old: str, new: str, message: str) -> None:
    assert faults_of(MINIMAL.replace(old, new)) == message.split("\n")


def test_a_file_that_is_no_template_has_few_faults() -> None:
    text = " ".join(f"${{V{number}}}" for number in range(3000))
    faults = faults_of(MINIMAL.replace("command: run", f"command: run\n    files: {{run.sh: '{text}'}}"))
    assert len(faults) == 20


def test_a_declaration_that_the_catalogue_refuses_does_not_hide_the_other_faults() -> None:
    def strict(declared: object) -> object:
        if declared:
            raise UsageError("a regex that cannot be used")
        return double_catalogue(())

    text = MINIMAL.replace("json: t", "regex: '(x'") + "margin: lots\nplatform: bear\n"
    with pytest.raises(UsageError) as raised:
        _read(text, strict)
    assert [line.split(": ")[1] for line in str(raised.value).splitlines()] == [
        "workloads.w.foms[0].regex",
        "margin",
        "platform",
    ]


def _read(text: str, catalogue: object) -> Study:
    return study_from_text(text, "study.yaml", catalogue, DOUBLE_SITE)  # type: ignore[arg-type]  # a double
