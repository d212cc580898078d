from __future__ import annotations

import msgspec

from support.synthetic import make_campaign, make_case
from tare.analysis.confounding import confounders, differences, values_of
from tare.core.campaign import Campaign


def with_environments(host: dict[str, str], overlay: dict[str, str]) -> Campaign:
    """Return a campaign over two networks whose nodes were so."""
    campaign = make_campaign(blocks=2)
    network = {case.id: str(case.network) for case in campaign.plan.cases}
    attempts = tuple(msgspec.structs.replace(one, environment=network[one.case]) for one in campaign.attempts)
    environments = {"host": {"n1": host}, "overlay": {"n1-pod": overlay}}
    return msgspec.structs.replace(campaign, attempts=attempts, environments=environments)


def test_what_the_varied_network_brings_along_is_no_confounder() -> None:
    campaign = with_environments(
        {"hostname": "n1", "nic.fab0.mtu": "1500", "kernel.release": "6.1"},
        {"hostname": "n1-pod", "nic.eth0.mtu": "1450", "kernel.release": "6.1"},
    )
    assert confounders(campaign) == ()


def test_another_kernel_on_one_side_is_a_confounder_with_its_values_and_cases() -> None:
    campaign = with_environments({"kernel.release": "6.1", "mpi.version": "5"}, {"kernel.release": "6.8"})
    found = {one.difference.fact: one for one in confounders(campaign)}
    assert set(found) == {"kernel.release", "mpi.version"}
    kernel = found["kernel.release"]
    assert (kernel.difference.left, kernel.difference.right) == (("6.1",), ("6.8",))
    assert found["mpi.version"].difference.right == ()
    assert kernel.settings == {"network": "overlay"}
    assert {campaign.cases[case].network for case in kernel.cases} == {"overlay"}


def test_what_a_batch_system_sets_in_the_layout_is_no_confounder_where_the_layout_varies() -> None:
    cases = [make_case(nodes=1), make_case(nodes=2)]
    campaign = make_campaign(cases, blocks=2, reference={"nodes": 1, "ranks": 1})
    names = {case.id: str(case.layout.nodes) for case in cases}
    campaign = msgspec.structs.replace(
        campaign,
        attempts=tuple(
            msgspec.structs.replace(one, environment=names[one.case]) for one in campaign.attempts
        ),
        environments={
            nodes: {"n1": {"variable.SLURM_NNODES": nodes, "variable.UCX_TLS": f"tcp{nodes}"}}
            for nodes in names.values()
        },
    )
    assert [one.difference.fact for one in confounders(campaign)] == ["variable.UCX_TLS"]


def test_a_priority_that_only_one_side_had_is_a_confounder() -> None:
    campaign = with_environments(
        {"priority.boost": "autogroup nice -20"}, {"priority.boost": "none: this user may not"}
    )
    (found,) = confounders(campaign)
    assert found.difference.fact == "priority.boost"


def test_another_reference_turns_the_sides_round() -> None:
    campaign = with_environments({"kernel.release": "6.1"}, {"kernel.release": "6.8"})
    (found,) = confounders(campaign, {"network": "overlay"})
    assert (found.difference.left, found.difference.right) == (("6.8",), ("6.1",))


def test_runs_without_an_environment_have_no_confounder() -> None:
    assert confounders(make_campaign(blocks=2)) == ()


def test_hosts_of_one_side_that_differ_are_a_difference_of_their_own() -> None:
    left = values_of([{"kernel": "1", "mtu": "9000"}, {"kernel": "2", "mtu": "9000"}])
    (found,) = differences(left, values_of([{"kernel": "1", "mtu": "9000"}]))
    assert (found.fact, found.left, found.right) == ("kernel", ("1", "2"), ("1",))
