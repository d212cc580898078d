"""The command, the environment and the files of a workload that a study declares, and its digest."""

from __future__ import annotations

import msgspec
import pytest

from tare.core.case import Case, Layout
from tare.core.workload import (
    Better,
    Fom,
    InlineDefinition,
    InlineFom,
    Parameter,
    ParameterKind,
    QuestionKind,
)
from tare.plugins.workloads.inline import InlineWorkload
from workloads.cases import case_of
from workloads.inline_workloads import fom, workload

PARAMETERS = tuple(
    Parameter(name=name, kind=kind, default=default, summary="")
    for name, kind, default in (
        ("size", ParameterKind.WHOLE, 64),
        ("rate", ParameterKind.NUMBER, 0.1),
        ("tag", ParameterKind.TEXT, "two words"),
        ("verify", ParameterKind.FLAG, True),
    )
)


def commanded(*command: str, **changes: object) -> tuple[InlineWorkload, Case]:
    changes.setdefault("is_mpi", True)  # or else it would have no use for its ranks
    mine = workload(fom("(1)"), command=command, parameters=PARAMETERS, **changes)
    layout = Layout(nodes=2, ranks=8, ranks_per_node=4, threads=3)
    return mine, case_of(mine, layout)


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("-n={size}", "-n=64"),
        ("{rate}", "0.1"),
        ("{tag}", "two words"),
        ("{verify}", "true"),
        ("{ranks}x{threads}", "8x3"),
        ("{{size}}", "{size}"),
        ("{{{size}}}", "{64}"),
        ("awk {{print}}", "awk {print}"),
        ("{work}/in {storage}", "{work}/in {storage}"),
        ("plain", "plain"),
    ],
)
def test_placeholders_are_filled_in(word: str, filled: str) -> None:
    mine, case = commanded("run", word)
    assert list(mine.faults(case)) == []
    assert mine.stages(case)[0].argv == ("run", filled)


def test_environment_and_files_are_filled_in_too() -> None:
    mine, case = commanded("run", env={"SIZE": "{size}"}, files={"in.txt": "size = {size};\n"}, is_mpi=True)
    (stage,) = mine.stages(case)
    assert (stage.env, stage.files, stage.is_mpi) == ({"SIZE": "64"}, {"in.txt": "size = 64;\n"}, True)


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("{sise}", "command: {sise} is neither a parameter nor a setting; did you mean {size}?"),
        ("{network}", "command: the case has no network; set 'network' in the study, or leave {network} out"),
        ("{a b}", "command: a single '{' stands for nothing; write '{{' for the character"),
    ],
)
def test_a_placeholder_that_cannot_be_filled_is_a_fault_with_its_cure(word: str, fault: str) -> None:
    mine, case = commanded("run", word)
    assert fault in list(mine.faults(case))


def test_of_thousands_of_unknown_placeholders_the_first_are_reported() -> None:
    known = {f"parameter_{number}": number for number in range(4000)}
    word = "".join(f"{{parameter_{number}x}}" for number in range(4000))
    case = msgspec.structs.replace(case_of(workload(fom("x(.)"))), parameters=known)
    reported = list(workload(fom("x(.)"), command=(word,)).faults(case))
    faults = [one for one in reported if "placeholder" in one or "parameter_" in one]
    assert len(faults) == 21
    assert "did you mean {parameter_0}?" in faults[0]
    assert faults[-1] == "command: 3980 more placeholders are neither a parameter nor a setting"


def test_faults_say_where_they_are() -> None:
    mine, case = commanded("run", env={"A": "{nope}"}, files={"in": "{storage}"})
    first, second = mine.faults(case)
    assert first.startswith("env.A: {nope}")
    assert second.startswith("files.in: {storage} is not known when files are written")


def test_the_digest_follows_the_definition_and_nothing_else() -> None:
    assert workload(fom("(1)")).digest == workload(fom("(1)")).digest
    assert workload(fom("(1)")).digest != workload(fom("(2)")).digest
    assert (
        workload(fom("(1)"), env={"A": "1", "B": "2"}).digest
        == workload(fom("(1)"), env={"B": "2", "A": "1"}).digest
    )


def test_the_digest_is_computed_once() -> None:
    one = workload(fom("(1)"))
    assert one.digest is one.digest


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert workload(fom("(1)")).digest == "461ac9ab93fb7080"


# What is said beside how a figure is read


def test_what_a_figure_answers_leaves_the_cases_of_older_campaigns_as_they_are() -> None:
    definition = InlineDefinition(
        name="mine",
        command=("run", "{n}"),
        parameters=(Parameter(name="n", kind=ParameterKind.WHOLE, default=3, summary="N"),),
        foms=(
            InlineFom(fom=Fom(name="time", unit="s", better=Better.LOWER, is_primary=True), regex="t=(.*)"),
        ),
    )
    assert InlineWorkload(definition).digest == "4af7ff8a00fdf79d", "as version 0.1.0 has it"
    answering = msgspec.structs.replace(
        definition.foms[0],
        fom=msgspec.structs.replace(definition.foms[0].fom, answers=(QuestionKind.STORAGE,)),
    )
    other = msgspec.structs.replace(definition, foms=(answering,))
    assert InlineWorkload(other).digest == "4af7ff8a00fdf79d"
    assert [one.answers for one in InlineWorkload(other).foms] == [(QuestionKind.STORAGE,)]
