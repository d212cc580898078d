"""What is beside the numbers: sides and places, gaps, environment, traffic, trust."""

from __future__ import annotations

import msgspec

from report.studies import answers_of, facts_of, three_networks, with_gaps
from support.synthetic import make_campaign, make_case
from tare.analysis.accounting import state_of
from tare.core.attempt import Attempt, Proof, State
from tare.core.campaign import Campaign
from tare.core.job import Counters, Link
from tare.report.sections.environment import surroundings
from tare.report.sections.traffic import crossings
from tare.report.variants import lay_out
from tare.report.words.accounting import account


def test_variants_are_named_by_the_settings_in_which_they_differ() -> None:
    cases = [
        make_case(network, platform=platform)
        for platform, network in (("bare", "host"), ("openshift", "host"), ("openshift", "sdn"))
    ]
    campaign = make_campaign(cases, reference={"platform": "bare", "network": "host"}, blocks=3)
    variants = lay_out(campaign, answers_of(campaign).comparisons)
    assert [variant.name for variant in variants.all] == [
        "bare · host",
        "openshift · host",
        "openshift · sdn",
    ]
    assert [variant.index for variant in variants.all] == [0, 1, 2]


def test_a_level_that_carries_a_name_is_called_by_it() -> None:
    cases = [
        msgspec.structs.replace(make_case(network), names={"setup": name})
        for network, name in (("host", "plain"), ("overlay", "SDN"))
    ]
    campaign = make_campaign(cases, blocks=3)
    assert [variant.name for variant in lay_out(campaign, []).all] == ["plain", "SDN"]


def test_configurations_name_the_parameters_that_vary_and_not_those_that_follow_the_nodes() -> None:
    cases = [
        make_case(network, nodes=nodes, parameters={"size": size})
        for network in ("host", "overlay") for nodes in (2, 4) for size in (768, 1536)
    ]  # fmt: skip
    campaign = make_campaign(cases, blocks=3)
    variants = lay_out(campaign, answers_of(campaign).comparisons)
    assert [configuration.label for configuration in variants.configurations] == [
        f"synthetic.pingpong · size {size} · {nodes} nodes" for size in (768, 1536) for nodes in (2, 4)
    ]


def test_every_planned_run_is_counted_once() -> None:
    campaign = with_gaps(three_networks())
    found = account(campaign)
    assert sum(found.states.values()) == found.n_planned == len(campaign.planned()) == 30
    assert sum(len(gap.blocks) for gap in found.gaps) == found.n_planned - found.n_done == 4


def test_a_run_that_nobody_holds_is_lost_and_not_running() -> None:
    attempt = Attempt(case="c", block=1, attempt=1, state=State.RUNNING, started_at=0)
    assert state_of(attempt, is_running=True) is State.RUNNING
    assert state_of(attempt, is_running=False) is State.LOST
    assert state_of(None, is_running=False) is State.PENDING


def test_facts_that_differ_between_variants_stand_apart_from_those_that_are_shared() -> None:
    campaign = make_campaign(blocks=3)
    variants = {case.id: str(case.network) for case in campaign.plan.cases}
    attempts = tuple(
        msgspec.structs.replace(one, environment=variants[one.case]) for one in campaign.attempts
    )
    environments = {
        "host": {
            "n1": {"kernel": "6.1", "mtu": "1500"},
            "n2": {"kernel": "6.1", "mtu": "1500", "turbo": "on"},
        },
        "overlay": {
            "n1": {"kernel": "6.1", "mtu": "1450"},
            "n2": {"kernel": "6.1", "mtu": "1450", "turbo": "on"},
        },
    }
    found = surroundings(
        msgspec.structs.replace(campaign, attempts=attempts, environments=environments), variants
    )
    assert found.shared == {"kernel": "6.1"}
    assert [(one.fact, one.is_between_variants) for one in found.differences] == [
        ("mtu", True),
        ("turbo", False),
    ]
    assert found.differences[0].by_variant == {"host": ("1500",), "overlay": ("1450",)}
    lacking = ("on", "not recorded")  # on the first host of each
    assert found.differences[1].by_variant == {"host": lacking, "overlay": lacking}


def test_traffic_is_the_median_over_runs_and_held_against_the_references_busiest_interface() -> None:
    campaign = make_campaign(blocks=3)
    name = {case.id: case.network for case in campaign.plan.cases}
    bytes_by_block = {1: 1000, 2: 1100, 3: 9000}
    attempts = tuple(
        msgspec.structs.replace(
            one,
            traffic={
                host: {
                    "fab0": Counters(
                        tx_bytes=bytes_by_block[one.block] * (2 if name[one.case] == "overlay" else 1),
                        tx_packets=10,
                    ),
                    "mgmt0": Counters(tx_bytes=1, tx_packets=1),
                }
                for host in one.hosts
            },
        )
        for one in campaign.attempts
    )
    campaign = msgspec.structs.replace(campaign, attempts=attempts)
    host, overlay = crossings(campaign, answers_of(campaign).comparisons.pairs())
    assert (host.interface, host.transmitted_bytes, host.packets, host.bytes_per_packet) == (
        "fab0",
        2200,
        20,
        110,
    )
    assert (host.against_reference, overlay.against_reference) == (None, 2)


def test_what_a_port_carries_for_the_interfaces_on_it_is_reported_once() -> None:
    """IPoIB goes through the counters of its port, which count RDMA too."""
    campaign = make_campaign(blocks=3)
    above = Link(lower=("mlx5_0:1",))
    traffic = {"n1": {"ib0": Counters(0, 0, 4000, 4, link=above), "mlx5_0:1": Counters(0, 0, 9000, 9)}}
    unread = {"n1": {"ib0": Counters(is_least=True)}}
    attempts = [msgspec.structs.replace(one, traffic=traffic) for one in campaign.attempts]
    attempts[0] = msgspec.structs.replace(attempts[0], traffic={**unread, "n2": traffic["n1"]})
    found = crossings(msgspec.structs.replace(campaign, attempts=tuple(attempts)), [])
    assert {(one.interface, one.transmitted_bytes, one.packets) for one in found} == {
        ("ib0", 4000, 4),
        ("mlx5_0:1", 5000, 5),
    }


def with_proofs(*proofs: Proof | None) -> Campaign:
    """Return a campaign of six runs with a proof each; those with None were recorded before there was one."""
    campaign = make_campaign(blocks=3)
    attempts = tuple(
        msgspec.structs.replace(one, transport="fab0 carried it", proof=proof)
        for one, proof in zip(campaign.attempts, proofs, strict=True)
    )
    return msgspec.structs.replace(campaign, attempts=attempts)


SILENT = "The MPI did not report which transport it chose."


def test_how_strong_the_proof_of_each_run_is_is_reported() -> None:
    told = facts_of(with_proofs(*[Proof.COUNTED] * 6))["Transport"]
    assert told == (
        "Counted on each of 6 measured runs: byte counters show that the network which was asked for carried "
        f"the data. {SILENT}"
    )
    told = facts_of(with_proofs(Proof.COUNTED, Proof.REPORTED, Proof.REPORTED, *[Proof.NOT_PROVEN] * 3))[
        "Transport"
    ]
    assert told == (
        "Counted on 1 of 6 measured runs: byte counters show that the network which was asked for carried "
        "the data. Reported on 2 of 6 measured runs: no counter shows it, but the MPI itself names the "
        "network which was asked for. Not proven on 3 of 6 measured runs: no counter shows that the network "
        "which "
        f"was asked for carried the data, and the MPI did not report it. {SILENT}"
    )


def test_runs_of_an_earlier_version_are_not_called_proven() -> None:
    told = facts_of(with_proofs(*[None] * 6))["Transport"]
    assert told.startswith("6 runs were judged by an earlier version of Tare, which may have taken start-up")


def test_runs_that_had_nothing_to_prove_are_not_called_unproven() -> None:
    assert facts_of(make_campaign(blocks=3))["Transport"] == (
        "No measured run had to prove which network its data took between nodes."
    )


def test_what_the_mpi_states_itself_is_reported_beside_the_counters() -> None:
    campaign = with_proofs(*[Proof.COUNTED] * 6)
    said = tuple(msgspec.structs.replace(one, chosen="UCX: tcp over fab0") for one in campaign.attempts)
    silent = msgspec.structs.replace(said[0], chosen="")
    whole = facts_of(msgspec.structs.replace(campaign, attempts=said))
    part = facts_of(msgspec.structs.replace(campaign, attempts=(silent, *said[1:])))
    assert whole["Transport"].endswith("On each, the MPI itself reported its transport.")
    assert "On 5 of them the MPI itself reported its transport" in part["Transport"]


def test_noise_and_load_are_reported_in_figures() -> None:
    campaign = make_campaign(blocks=4)
    attempts = tuple(
        msgspec.structs.replace(one, load=0.5 + index) for index, one in enumerate(campaign.attempts)
    )
    facts = facts_of(msgspec.structs.replace(campaign, attempts=attempts))
    assert "0.50 to 7.5" in facts["Load"]
    assert facts["Noise"].startswith("Runs of one case scatter by ")
