"""What is said first: the figure that answers the question, and kinds of figures one by one."""

from __future__ import annotations

import re

import pytest

from tare.analysis.answering_figures import kinds_asked
from tare.core.values import Settings
from tare.core.workload import Better, QuestionKind
from truth.campaigns import Figure, Truth, campaign
from truth.told_campaigns import HPCC, NAMD, OSU, PATHS, QUIET, WRF, gateway, plain, said, slowed


def test_a_gateway_that_slows_heavy_output_is_told_by_the_time_that_output_is_in() -> None:
    truth = Truth(factors=PATHS, workloads={"wrf.x": WRF}, slowing=gateway, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.match(
        r"gateway is worse than direct in wrf\.x’s integration time \(4[345] % longer \[\d+, \d+\]\) "
        r"at 4 nodes \(io heavy\)",
        text,
    )
    assert "equivalent" not in text
    assert "is within ± 2 % of direct in wrf.x’s integration time (" in text, "the other places, named"
    assert "step" not in text, "its pace does not answer what storage costs"


def test_without_a_declared_answer_the_elapsed_time_still_forbids_equivalence() -> None:
    figures = tuple(
        Figure(name=one.name, unit=one.unit, better=one.better, is_primary=one.is_primary) for one in WRF
    )
    truth = Truth(factors=PATHS, workloads={"wrf.x": figures}, slowing=gateway, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    assert re.match(
        r"gateway is worse than direct in wrf\.x’s integration time \(4[345] % longer", plain(answer.sentence)
    )
    assert "equivalent" not in answer.sentence


def test_wall_time_and_pace_are_two_figures_and_not_one_average() -> None:
    truth = Truth(
        workloads={"namd.x": NAMD},
        slowing=slowed("network", "overlay", {"wall_time": 1.3}),
        noise=QUIET,
        blocks=8,
    )
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.match(
        r"overlay is worse than host in namd\.x’s wall time \((30|29\.\d|30\.\d) % longer \[", text
    )
    assert "is within ± 2 % of host in namd.x’s days per ns (" in text
    assert "equivalent" not in text
    assert "14" not in text


def test_figures_of_different_kinds_are_told_one_by_one() -> None:
    faster = {"HPL_Tflops": 1 / 1.35, "MPIRandomAccess_GUPs": 1 / 70}
    truth = Truth(
        workloads={"hpcc": HPCC}, slowing=slowed("network", "overlay", faster), noise=QUIET, blocks=8
    )
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.search(r"better than host in .*hpcc’s MPIRandomAccess GUPs \(multiplied by (70|69)", text)
    assert re.search(r"better than host in hpcc’s HPL Tflops \(3[45](\.\d)? % higher", text)
    assert "is equivalent to host, within ± 2 %, in hpcc’s StarFFT Gflops (" in text


def test_scales_are_averaged_only_where_they_agree_and_then_the_range_is_told() -> None:
    factors = {"network": ("host", "overlay"), "nodes": (1, 2, 4)}

    def slower(settings: Settings, _: str) -> float:
        by_nodes = {1: 1.0, 2: 1.1, 4: 1.4}
        return by_nodes[int(settings["nodes"])] if settings["network"] == "overlay" else 1.0

    (answer,) = said(campaign(Truth(factors=factors, slowing=slower, noise=QUIET, blocks=8)))
    text = plain(answer.sentence)
    assert re.search(
        r"2[34](\.\d)? % longer \[.*\] on average, \+(10|9\.\d) % to \+(40|39) %\) at 2 and 4", text
    )
    assert re.search(r"is within ± 2 % of host in synthetic\.solver’s time \(.*\) at 1 node", text)
    assert "At 1 node nothing crosses the network" in answer.beside


def test_reads_and_writes_are_told_apart() -> None:
    bandwidth = Figure(
        name="bandwidth", unit="MiB/s", better=Better.HIGHER, at={"operation": ("read", "write")}
    )
    truth = Truth(workloads={"ior": (bandwidth,)}, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    assert "ior’s bandwidth (operation read: " in plain(answer.text)
    assert "ior’s bandwidth (operation write: " in plain(answer.text)


def test_a_ping_pong_is_not_averaged_with_an_all_to_all() -> None:
    truth = Truth(
        workloads=OSU, slowing=slowed("network", "overlay", {"latency": 1.5}), noise=QUIET, blocks=8
    )
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.search(r"osu\.latency’s latency up to 1 KiB \((50|49|4\d\.\d) % higher", text)
    assert re.search(r"osu\.alltoall’s latency up to 1 KiB \((50|49|4\d\.\d) % higher", text)
    assert "osu.bw’s bandwidth from 64 KiB (" in text


@pytest.mark.parametrize(
    ("differing", "varied", "kind"),
    [
        ({"network"}, ("network", "nodes"), QuestionKind.NETWORK),
        ({"network"}, ("network", "io"), QuestionKind.STORAGE),
        ({"storage"}, ("storage",), QuestionKind.STORAGE),
        ({"platform"}, ("platform",), QuestionKind.PLATFORM),
        ({"cells"}, ("cells",), QuestionKind.COMPUTE),
        ({"bind"}, ("bind",), QuestionKind.SCHEDULER),
    ],
)
def test_what_differs_says_what_is_asked(
    differing: set[str], varied: tuple[str, ...], kind: QuestionKind
) -> None:
    assert kinds_asked(differing, varied) == {kind}


def test_the_workloads_that_leave_output_out_of_their_pace_declare_what_answers_storage() -> None:
    from tare.plugins.workloads import gromacs, lammps, namd, openfoam, wrf_output

    answering = {
        name: {kind: [fom.name for fom in foms if kind in fom.answers] for kind in QuestionKind}
        for name, foms in {
            "wrf": wrf_output.FOMS,
            "namd": namd._FOMS,
            "openfoam": openfoam._FOMS,
            "lammps": lammps._FOMS,
            "gromacs": gromacs._FOMS,
        }.items()
    }
    storage = {name: kinds[QuestionKind.STORAGE] for name, kinds in answering.items()}
    assert storage == {
        "wrf": ["integration_time"],
        "namd": ["wall_time"],
        "openfoam": ["clock_time"],
        "lammps": ["loop_time"],
        "gromacs": ["wall_time"],
    }
    assert all(len(foms) == 1 for kinds in answering.values() for foms in kinds.values())
