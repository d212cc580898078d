"""Which figures answer what differs between two sides."""

from __future__ import annotations

import msgspec
import pytest

from support.synthetic import make_case, make_plan
from tare.analysis.answering_figures import answering_foms, kinds_asked
from tare.analysis.pairs import Pair
from tare.core.plan import Plan
from tare.core.workload import Better, Fom, QuestionKind
from tare.plugins.workloads.hpcc import WORKLOADS

(HPCC,) = WORKLOADS


def pair_of(workload: str, **differing: str) -> Pair:
    return Pair(
        reference_case=make_case(workload=workload),
        contender_case=make_case("overlay", workload=workload),
        reference=dict.fromkeys(differing, "one"),
        contender=differing,
        shared={},
    )


def plan_of(*foms: Fom) -> Plan:
    return msgspec.structs.replace(make_plan([make_case(workload="suite")]), foms={"suite": foms})


def fom(name: str, *answers: QuestionKind, is_primary: bool = False) -> Fom:
    return Fom(name=name, unit="s", better=Better.LOWER, answers=answers, is_primary=is_primary)


def test_hpcc_answers_for_a_network_with_what_its_ranks_send_each_other() -> None:
    found = answering_foms(plan_of(*HPCC.foms), pair_of("suite", network="overlay"))
    assert found == {
        "HPL_Tflops",
        "PTRANS_GBs",
        "MPIRandomAccess_GUPs",
        "MPIFFT_Gflops",
        "RandomlyOrderedRingLatency_usec",
        "RandomlyOrderedRingBandwidth_GBytes",
    }


def test_hpcc_answers_for_threads_or_sizes_with_what_processors_and_memory_do() -> None:
    found = answering_foms(plan_of(*HPCC.foms), pair_of("suite", threads="4"))
    assert found == {"HPL_Tflops", "StarDGEMM_Gflops", "StarSTREAM_Triad", "StarFFT_Gflops", "MPIFFT_Gflops"}


@pytest.mark.parametrize("kind", ["platform", "bind"])
def test_hpcc_answers_for_a_platform_with_what_its_awards_rank(kind: str) -> None:
    found = answering_foms(plan_of(*HPCC.foms), pair_of("suite", **{kind: "pods"}))
    assert found == {one.name for one in HPCC.foms if one.is_primary}


def test_sides_that_differ_in_two_settings_ask_for_both() -> None:
    assert kinds_asked(("platform", "network"), ()) == {QuestionKind.PLATFORM, QuestionKind.NETWORK}
    plan = plan_of(fom("ring", QuestionKind.NETWORK), fom("time", is_primary=True), fom("other"))
    assert answering_foms(plan, pair_of("suite", network="overlay")) == {"ring"}
    assert answering_foms(plan, pair_of("suite", network="overlay", platform="pods")) == {"ring", "time"}
