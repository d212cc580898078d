"""The layout of a case is what runs: labels are what the command line has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from support.doubles import DoubleWorkload
from tare.core.case import Binding, Case, Layout
from tare.core.errors import FileFaults
from tare.core.launch import Invocation
from tare.core.plan import Edition, Plan
from tare.core.site import Network, Platform, Site
from tare.core.study import Factor, Level, Origin, Study
from tare.core.values import Scalar
from tare.core.workload import InlineDefinition, Parameter, ParameterKind, Stage, Workload
from tare.execution.compose import Composer
from tare.plan import make_plan
from tare.plugins import registry
from tare.plugins.backends.slurm.options import SlurmOptions

LAUNCHERS = ("mpich", "intelmpi", "openmpi4", "openmpi5", "srun")
SITE = Site(
    name="here",
    nodes=("n1", "n2", "n3", "n4"),
    slots_per_node=64,
    platforms={
        name: Platform(launcher=name, backend="slurm", options=SlurmOptions())
        if name == "srun"
        else Platform(launcher=name)
        for name in LAUNCHERS
    },
    networks={"host": Network(interface="fab0")},
    storage={"scratch": "/scratch"},
    agent=("/opt/agent",),
    memory_bytes=1 << 34,
)
EXAMPLES: Mapping[ParameterKind, Scalar] = {
    ParameterKind.TEXT: "/inputs",
    ParameterKind.WHOLE: 64,
    ParameterKind.NUMBER: 1.0,
    ParameterKind.BYTES: 1 << 20,
    ParameterKind.SECONDS: 1.0,
    ParameterKind.FRACTION: 0.5,
    ParameterKind.FLAG: False,
}
ASKED = [(nodes, per_node, threads) for nodes in (1, 2, 4) for per_node in (1, 2, 4, 9) for threads in (1, 2)]


def example(parameter: Parameter) -> Scalar:
    return parameter.choices[0] if parameter.choices else EXAMPLES[parameter.kind]


def planned(
    workload: Workload, edition: Edition = Edition.USED, site: Site = SITE, **common: Scalar
) -> tuple[Case, ...]:
    """Return the cases of a study of one case, none where the workload refuses it."""
    needed = {one.name: example(one) for one in workload.parameters if one.default is None and not one.fact}
    study = Study(name="s", common={"workload": workload.name, **needed, **common})
    try:
        return make_plan(study, site, {workload.name: workload}, edition).cases
    except FileFaults:
        return ()


def started(invocation: Invocation) -> tuple[int, int | None, int | None]:
    """Return the ranks, nodes and ranks per node that a command line asks for; None where it says nothing."""
    words = list(invocation.argv)
    text = " ".join(words)
    if words[0] == "srun":
        found = {name: int(value) for name, value in re.findall(r"--([a-z-]+)=(\d+)", text)}
        return found["ntasks"], found["nodes"], found["ntasks-per-node"]
    ranks = int(words[words.index("-n") + 1])
    if words[0] in ("mpirun", "orterun"):
        hosts = words[words.index("-H") + 1].split(",")
        return ranks, len(hosts), int(hosts[0].partition(":")[2])
    n_hosts = len(words[words.index("-hosts") + 1].split(","))
    return ranks, n_hosts, int(words[words.index("-ppn") + 1])


def composed(case: Case, workload: Workload) -> list[tuple[Stage, Invocation]]:
    composer = Composer(SITE, {workload.name: workload}, registry.launcher, registry.runtime)
    return list(composer.compose(case))


ALL = registry.workloads()


@pytest.mark.parametrize("family", registry.workloads().families)
def test_a_case_has_the_ranks_and_nodes_that_its_command_line_starts(family: str) -> None:
    names = [name for name in ALL if name.partition(".")[0] == family]
    for name in names:
        workload = ALL[name]
        n_found = 0
        for number, (nodes, per_node, threads) in enumerate(ASKED):
            asked: dict[str, Any] = {"nodes": nodes, "ranks_per_node": per_node, "threads": threads}
            platform = LAUNCHERS[number % len(LAUNCHERS)]
            for case in planned(workload, **asked, platform=platform):
                n_found += 1
                layout = case.layout
                mpi = [started(one) for stage, one in composed(case, workload) if stage.is_mpi]
                if not mpi:
                    assert (layout.nodes, layout.ranks, layout.ranks_per_node) == (1, 1, 1), (name, asked)
                    continue
                assert max(mpi) == (layout.ranks, layout.nodes, layout.ranks_per_node), (name, asked)
        assert n_found, f"{name} was never planned"


@pytest.mark.parametrize("name", ["imb.pingpong", "osu.latency", "osu.bw", "tare.p2p", "iperf3", "qperf"])
def test_a_pair_is_two_ranks_however_many_slots_a_node_has(name: str) -> None:
    (case,) = planned(ALL[name], platform="openmpi5", nodes=2, ranks_per_node=64, threads=4)
    assert (case.layout.nodes, case.layout.ranks, case.layout.ranks_per_node, case.layout.threads) == (
        2,
        2,
        1,
        1,
    )


def test_a_service_is_one_process_on_each_node() -> None:
    (case,) = planned(ALL["fio.randread"], platform="openmpi5", nodes=4, ranks_per_node=8, threads=2)
    assert (case.layout.nodes, case.layout.ranks, case.layout.threads) == (4, 4, 2)
    (case,) = planned(ALL["fio.randread"], platform="openmpi5", nodes=1, ranks_per_node=8)
    assert (case.layout.nodes, case.layout.ranks) == (1, 1)


def study_of(*factors: Factor, **common: Scalar) -> Study:
    return Study(name="s", factors=factors, common=common)


def factor(name: str, *values: Scalar, line: int = 7) -> Factor:
    return Factor(
        name,
        tuple(
            Level(settings={name: value}, origin=Origin("study.yaml", line, 9 + n, f"factors.{name}[{n}]"))
            for n, value in enumerate(values)
        ),
    )


def plan(study: Study) -> Plan:
    return make_plan(study, SITE, ALL)


def test_levels_that_are_one_case_for_a_workload_are_reported_with_their_position() -> None:
    made = plan(
        study_of(
            factor("workload", "imb.pingpong", "imb.allreduce", line=5),
            factor("ranks_per_node", 1, 2),
            nodes=2,
            platform="openmpi5",
        )
    )
    assert [case.layout.ranks for case in made.cases] == [2, 2, 4]
    (note,) = made.notes
    assert note.startswith("study.yaml:7:10: factors.ranks_per_node[1]: ")
    assert "1 and 2 are one case for imb.pingpong" in note
    assert "2 ranks run on 2 nodes" in note


def test_a_factor_that_varies_nothing_is_refused() -> None:
    with pytest.raises(
        FileFaults, match=r"study.yaml:7:10: .*ranks_per_node varies nothing: 2 ranks run on 2"
    ):
        plan(study_of(factor("ranks_per_node", 1, 2), workload="imb.pingpong", nodes=2, platform="openmpi5"))


def test_a_layout_that_is_asked_and_not_used_is_reported_once() -> None:
    made = plan(
        study_of(factor("platform", "openmpi5", "mpich"), workload="osu.latency", nodes=4, ranks_per_node=64)
    )
    (note,) = made.notes
    assert "asks for nodes=4 ranks_per_node=64, but of osu.latency 2 ranks run on 2 nodes" in note


def test_a_level_of_a_workload_that_overrides_a_factor_is_reported() -> None:
    inner = Level(
        settings={"workload": "ior", "transfer": 65536},
        origin=Origin("study.yaml", 5, 7, "factors.workload[0]"),
    )
    study = study_of(Factor("workload", (inner,)), factor("transfer", 65536, 1 << 20), platform="openmpi5")
    with pytest.raises(FileFaults) as caught:
        plan(study)
    text = str(caught.value)
    assert "study.yaml:7:10: factors.transfer[1]: transfer varies nothing" in text
    assert "(study.yaml:5) sets transfer itself" in text
    assert "transfer=64KiB" in text
    beside = Level(settings={"workload": "ior"})
    made = plan(
        study_of(Factor("workload", (inner, beside)), factor("transfer", 65536, 1 << 20), platform="openmpi5")
    )
    assert "transfer 64KiB and 1MiB are one case for ior in 1 of 2 combinations" in "".join(made.notes)


def test_a_case_that_overrides_a_factor_in_some_combinations_is_reported() -> None:
    setups = Factor(
        "setup", (Level(settings={"platform": "mpich"}), Level(settings={"platform": "openmpi5", "nodes": 2}))
    )
    made = plan(study_of(setups, factor("nodes", 2, 4), workload="imb.allreduce"))
    assert len(made.cases) == 3
    assert "nodes 2 and 4 are one case for imb.allreduce in 1 of 2 combinations" in made.notes[0]


def test_a_repeated_level_is_refused() -> None:
    with pytest.raises(
        FileFaults, match=r"study.yaml:7:11: factors.nodes\[2\]: nodes=2 is there twice; remove one"
    ):
        plan(study_of(factor("nodes", 2, 4, 2), workload="imb.allreduce", platform="openmpi5"))


def inline(*command: str, is_mpi: bool = False) -> Workload:
    return registry.workloads([InlineDefinition(name="mine", command=command, is_mpi=is_mpi)])["mine"]


@pytest.mark.parametrize("common", [{"nodes": 4}, {"ranks": 2}, {"ranks_per_node": 8}])
def test_a_program_that_would_use_one_node_and_one_process_gets_no_more(common: dict[str, Scalar]) -> None:
    study = Study(name="s", common={"workload": "mine", "platform": "openmpi5", **common})
    with pytest.raises(FileFaults, match=r"set mpi: true .* name \{hosts\}, \{nodes\} or \{ranks\}"):
        make_plan(study, SITE, {"mine": inline("app")})
    (case,) = make_plan(study, SITE, {"mine": inline("app", is_mpi=True)}).cases
    assert max(case.layout.nodes, case.layout.ranks) == next(iter(common.values()))


def test_a_program_that_starts_its_processes_itself_names_them() -> None:
    own = inline("mpirun", "-H", "{hosts}", "-n", "{ranks}", "app")
    study = Study(
        name="s", common={"workload": "mine", "platform": "openmpi5", "nodes": 2, "ranks_per_node": 3}
    )
    (case,) = make_plan(study, SITE, {"mine": own}).cases
    assert (case.layout.nodes, case.layout.ranks) == (2, 6)
    ((_, invocation),) = composed(case, own)
    assert invocation.argv[1:] == ("-H", "n1,n2", "-n", "6", "app")


def test_a_campaign_of_the_first_edition_keeps_its_cases() -> None:
    old = planned(ALL["imb.pingpong"], Edition.ASKED, platform="openmpi5", nodes=2, ranks_per_node=4)
    assert [case.layout for case in old] == [Layout(2, 8, 4)]
    new = planned(DoubleWorkload(), platform="openmpi5")
    assert new[0].id == planned(DoubleWorkload(), Edition.ASKED, platform="openmpi5")[0].id


def test_cores_that_are_shared_are_reported() -> None:
    made = plan(study_of(workload="imb.allreduce", platform="openmpi5", nodes=2, ranks_per_node=65))
    (note,) = made.notes
    assert "1 case shares cores: up to 65 ranks with 1 thread each on a node of 64 slots" in note


def test_options_of_a_network_that_srun_would_drop_are_reported() -> None:
    network = Network(interface="ib0", options={"openmpi5": {"UCX_NET_DEVICES": "mlx5_0:1"}})
    site = msgspec.structs.replace(SITE, networks={"ib": network})
    study = study_of(workload="imb.allreduce", platform="srun", nodes=2)
    (note,) = make_plan(study, site, ALL).notes
    assert "options of network ib for openmpi5 do not reach ranks of platform srun" in note
    assert make_plan(study_of(workload="imb.allreduce", platform="mpich", nodes=2), site, ALL).notes == ()


def test_binding_is_a_factor_and_core_is_the_default_where_ranks_fit() -> None:
    bound = plan(
        study_of(factor("bind", "none", "core"), workload="imb.allreduce", platform="mpich", nodes=2)
    )
    assert [case.settings["bind"] for case in bound.cases] == ["none", "core"]
    assert bound.varied == ("bind",)
    layouts = [(nodes, per_node) for nodes in (1, 2) for per_node in (2, 64, 65)]
    found = [
        planned(ALL["imb.allreduce"], platform="mpich", nodes=n, ranks_per_node=per) for n, per in layouts
    ]
    assert [case.layout.bind for (case,) in found] == 2 * ["core", "core", "none"]
    (peers,) = planned(ALL["iperf3"], platform="mpich", nodes=2)
    assert peers.layout.bind == "none", "a server and a client have threads of their own"


def test_nodes_that_share_one_machine_are_bound_where_each_has_cores_of_its_own() -> None:
    """That is as on nodes which are machines; else nothing is bound, and nothing is refused unasked."""
    lab = msgspec.structs.replace(SITE, shared_cores=2, shared_cpus=((0,), (1,)))
    for settings, bind in (
        ({"nodes": 1, "ranks_per_node": 2}, "core"),
        ({"nodes": 2}, "core"),
        ({"nodes": 2, "bind": "none"}, "none"),
        ({"nodes": 2, "ranks_per_node": 2}, "none"),
        ({"nodes": 2, "threads": 2}, "none"),
        ({"nodes": 4}, "none"),
        ({"nodes": 2, "platform": "srun"}, "none"),
    ):
        (case,) = planned(ALL["imb.allreduce"], site=lab, **({"platform": "mpich"} | settings))
        assert case.layout.bind == bind, settings


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            {"nodes": 4, "bind": "core"},
            "share the 2 cores of one machine at site .*; none has one of its own",
        ),
        (
            {"nodes": 2, "ranks_per_node": 2, "bind": "core"},
            "each has 1 of its own, and its ranks need 2; set",
        ),
        ({"nodes": 2, "threads": 3, "bind": "core"}, "each has 1 of its own, and its ranks need 3; set bind"),
        ({"nodes": 2, "bind": "socket"}, "have no sockets of their own; set bind: core or none"),
        (
            {"nodes": 2, "bind": "core", "platform": "srun"},
            "a batch system would bind to the same ones; set bind: none",
        ),
    ],
)
def test_what_cannot_be_bound_on_one_machine_is_refused(asked: dict[str, Any], told: str) -> None:
    platforms = SITE.platforms | {"srun": Platform(backend="slurm", options=SlurmOptions(), launcher="srun")}
    lab = msgspec.structs.replace(SITE, platforms=platforms, shared_cores=2, shared_cpus=((0,), (1,)))
    bind = asked.pop("bind")
    study = study_of(factor("bind", bind), workload="imb.allreduce", **({"platform": "mpich"} | asked))
    with pytest.raises(FileFaults, match=rf"study\.yaml:7:9: factors.bind\[0\]: bind {bind}: .*{told}"):
        make_plan(study, lab, ALL)


def test_a_network_of_other_hosts_is_refused_where_a_batch_system_starts_the_ranks() -> None:
    platforms = {"mpich": SITE.platforms["mpich"]}
    platforms["queued"] = Platform(backend="slurm", options=SlurmOptions(), launcher="srun")
    networks = {
        "bare": Network(interface="fab0"),
        "pods": Network(interface="eth0", host="{node}-pod"),
    }
    site = msgspec.structs.replace(SITE, platforms=platforms, networks=networks)
    study = study_of(
        factor("network", "bare", "pods"), workload="imb.allreduce", platform="mpich", nodes=2, bind="none"
    )
    assert {case.network for case in make_plan(study, site, ALL).cases} == {"bare", "pods"}
    queued = msgspec.structs.replace(study, common={**study.common, "platform": "queued"})
    told = r"factors.network\[1\]: network 'pods' .* on the host '\{node\}-pod', and a batch system starts"
    with pytest.raises(FileFaults, match=told):
        make_plan(queued, site, ALL)


def test_a_case_has_exactly_the_settings_of_its_row() -> None:
    layout = Layout(nodes=2, ranks=4, ranks_per_node=2, threads=3, bind=Binding.CORE)
    case = Case(
        id="x", workload="w", platform="p", layout=layout, parameters={"n": 7}, unknown=("threads", "storage")
    )
    assert all(case.has({name: value}) for name, value in case.settings.items())
    others = (("threads", 3), ("nodes", 1), ("bind", "none"), ("twin", "a"), ("n", 8), ("no such", 1))
    assert not any(case.has({name: value}) for name, value in others)
