"""A workload's program is started as the study asks: by its executable, arguments and wrapper."""

# ruff: noqa: E501 - messages stand whole, as a user reads them
from __future__ import annotations

import msgspec
import pytest

from tare.config import study_from_text
from tare.core.errors import FileFaults
from tare.core.plan import Plan
from tare.core.site import Network, Platform, Site
from tare.execution.compose import Composer
from tare.plan import make_plan
from tare.plugins import registry

SITE = Site(
    name="here",
    nodes=("n1", "n2"),
    slots_per_node=4,
    platforms={"bare": Platform(launcher="openmpi5")},
    networks={"host": Network(interface="fab0")},
    agent=("/opt/agent",),
)


def planned(text: str) -> tuple[Plan, Composer]:
    study = study_from_text(f"study: s\n{text}", "study.yaml", registry.workloads, SITE)
    workloads = registry.workloads(study.workloads)
    composer = Composer(SITE, workloads, registry.launcher, registry.runtime)
    return make_plan(study, SITE, workloads), composer


def commands(text: str) -> list[tuple[str, ...]]:
    plan, composer = planned(text)
    return [composer.stages(case)[-1].argv for case in plan.cases]


def faults(text: str) -> list[str]:
    with pytest.raises(FileFaults) as caught:
        planned(text)
    return [str(one) for one in caught.value.faults]


OSU = "workload: osu.latency\nnodes: 2\n"


def test_arguments_follow_those_of_the_workload_and_are_never_read_by_a_shell() -> None:
    (plain,) = commands(OSU)
    assert commands(f"""{OSU}args: ["-x", "a b", "$(reboot)", "; rm"]\n""") == [
        (*plain, "-x", "a b", "$(reboot)", "; rm")
    ]
    assert commands(f"""{OSU}args: "-x 'a b' {{ranks}} {{{{}}}}"\n""") == [(*plain, "-x", "a b", "2", "{}")]


def test_a_wrapper_starts_the_program_on_each_rank_inside_the_launcher() -> None:
    plan, composer = planned(f"{OSU}wrapper: strace -f -o {{work}}/trace\n")
    ((stage, invocation),) = composer.compose(plan.cases[0])
    assert stage.argv[:5] == ("strace", "-f", "-o", "{work}/trace", "osu_latency")
    assert stage.programs == ("osu_latency",)
    command = list(invocation.argv)
    assert command.index("mpirun") < command.index("strace") < command.index("osu_latency")


def test_an_executable_replaces_the_program_as_one_word() -> None:
    (argv,) = commands(f"{OSU}executable: /opt/my build/osu_latency\nwrapper: [time, -v]\n")
    assert argv[:3] == ("time", "-v", "/opt/my build/osu_latency")


def test_stages_are_those_of_the_asking_composer_and_of_the_case_asked_about() -> None:
    """They are kept for the latest case: an altered copy of the composer must not get its original's."""
    plan, composer = planned(f"{OSU}factors: {{args: [one, two]}}\n")
    first, second = plan.cases
    assert [composer.stages(one)[0].argv[-1] for one in (first, second)] == ["one", "two"]
    assert composer.stages(first) is composer.stages(first)
    other = msgspec.structs.replace(composer, prologue=(("true",),))
    assert [stage.argv for stage in other.stages(first)] == [
        ("true",),
        *(stage.argv for stage in composer.stages(first)),
    ]


def test_wrappers_are_levels_of_a_factor_with_one_that_changes_nothing() -> None:
    text = f"{OSU}factors:\n  wrapper: [none, numactl --localalloc]\nreference: {{wrapper: none}}\n"
    plan, composer = planned(text)
    found = {case.settings["wrapper"]: composer.stages(case)[-1].argv[0] for case in plan.cases}
    assert found == {"none": "osu_latency", "numactl --localalloc": "numactl"}
    assert plan.varied == ("wrapper",)
    contender = next(case for case in plan.cases if not plan.is_reference(case))
    reference = plan.reference_of(contender)
    assert reference is not None
    assert reference.settings["wrapper"] == "none"


def test_a_workload_may_set_them_for_itself_and_the_case_without_them_keeps_its_id() -> None:
    (old,) = planned(OSU)[0].cases
    assert "wrapper" not in old.parameters
    text = "nodes: 2\nfactors:\n  workload:\n    - osu.latency\n    - osu.latency: {args: [-c, -W]}\n"
    plan, _ = planned(text)
    assert [case.parameters["args"] for case in plan.cases] == ["none", "-c", "-W"]
    assert plan.cases[0].id == old.id
    assert len({case.id for case in plan.cases}) == 3


def test_a_parameter_of_the_workload_comes_before_a_setting_of_the_same_name() -> None:
    (argv,) = commands("workload: {namd.apoa1: {args: +setcpuaffinity}}\nnodes: 2\n")
    assert argv.count("+setcpuaffinity") == 1
    declared = (
        "workload: {w: {wrapper: '| x'}}\nworkloads:\n  w:\n    command: run {wrapper}\n    parameters: {wrapper: y}\n"
        "    foms: [{name: t, unit: s, better: lower, json: t}]\n"
    )
    assert commands(declared) == [("run", "| x")]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("args: -x 'open", "study.yaml:4:7: args: No closing quotation; close the quotes"),
        ("args: -x | tee log", "study.yaml:4:7: args: '|' needs a shell, and no shell runs this; call a script instead"),
        ("wrapper: ' '", "study.yaml:4:10: wrapper: wrapper is empty; write none for no wrapper"),
        ("args: -n {rank}", "study.yaml:4:7: args: osu.latency: args: {rank} is neither a parameter nor a setting"),
        ("wrapper: awk {x", "study.yaml:4:10: wrapper: osu.latency: wrapper: a single '{' stands for nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_started_is_a_fault_with_its_place_and_cure(line: str, fault: str) -> None:
    found = faults(OSU + line)
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_workloads_that_a_script_starts_refuse_arguments_that_would_not_reach_them() -> None:
    (fault,) = faults("workload: iperf3\nnodes: 2\nargs: --zerocopy\n")
    assert "a script of Tare starts this workload's programs, so args would not reach them" in fault
    assert commands("workload: iperf3\nnodes: 2\nwrapper: numactl -N 0\n")[0][:4] == (
        "numactl",
        "-N",
        "0",
        "sh",
    )


@pytest.mark.parametrize(
    ("parameter", "word"),
    [
        ("x: {kind: number, default: 0.30000000000000004}", "0.30000000000000004"),
        ("x: {kind: number, default: 0.3}", "0.3"),
        ("x: {kind: number, default: 16.0}", "16"),
        ("x: {kind: number, default: 123456789012345678}", "1.2345678901234568e+17"),
        ("x: {kind: fraction, default: 70 %}", "0.7"),
        ("x: {kind: seconds, default: 69 ms}", "0.069"),
    ],
)
def test_a_number_reaches_every_command_as_the_study_writes_it(parameter: str, word: str) -> None:
    plan, composer = planned(f"""\
workload: mine
wrapper: nice {{x}}
workloads:
  mine:
    prologue: ["echo {{x}}"]
    command: run {{x}}
    parameters: {{{parameter}}}
    foms: [{{name: rate, unit: 1/s, better: higher, regex: "rate ([0-9]+)"}}]
""")
    stages = [stage.argv for stage in composer.stages(plan.cases[0])]
    assert stages == [("echo", word), ("nice", word, "run", word)]


def test_levels_that_differ_in_the_last_digit_have_names_of_their_own() -> None:
    plan, _ = planned("""\
workload: mine
factors: {x: [0.3, 0.30000000000000004]}
workloads:
  mine:
    command: run {x}
    parameters: {x: {kind: number}}
    foms: [{name: rate, unit: 1/s, better: higher, regex: "rate ([0-9]+)"}]
""")
    assert [plan.written("x", case.settings["x"]) for case in plan.cases] == ["0.3", "0.30000000000000004"]


def test_long_times_and_rates_of_the_networks_tools_keep_their_digits() -> None:
    (argv,) = commands("workload: {iperf3: {time_s: 1234567, rate_mbit_s: 1234567.5}}\nnodes: 2\n")
    text = " ".join(argv)
    assert "-t 1234567 " in text
    assert "-b 1234567.5M" in text


def test_the_least_value_of_a_parameter_is_named_with_all_its_digits() -> None:
    text = """\
workload: mine
factors: {x: [1]}
workloads:
  mine:
    command: run {x}
    parameters: {x: {kind: whole number, minimum: 1234567}}
    foms: [{name: rate, unit: 1/s, better: higher, regex: "rate ([0-9]+)"}]
"""
    (fault,) = faults(text)
    assert fault.endswith("factors.x[0]: 1 is too small for x; use 1234567 or more")
