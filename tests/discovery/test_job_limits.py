"""What one job may have, by limits of partitions, QoS and associations as real sites set them."""

from __future__ import annotations

import pytest

from tare.app.init.job_limits import JobLimits, limits_of, minutes_in
from tare.discovery.facts import Account, NodeClass, Partition, Qos, SlurmFacts
from tare.discovery.slurm_accounting import read_accounts, read_qos, with_shared

KIND = NodeClass(nodes=("n1", "n2", "n3"), sockets=2, cores_per_socket=8, threads_per_core=2)


def limits(slurm: SlurmFacts | None = None, account: str = "", qos: str = "", **own: str) -> JobLimits:
    partition = Partition(name="lab", classes=(KIND,), limits=own)
    return limits_of(slurm or SlurmFacts(version="23.11"), partition, KIND, account, qos)


def site(*, is_enforced: bool = True, accounts: tuple[Account, ...] = (), **qos: str) -> SlurmFacts:
    """Return a Slurm with QoS of these names, each with one limit, as MaxTRES:node=1."""
    pairs = {name: text.partition(":") for name, text in qos.items()}
    kinds = tuple(Qos(name=name, limits={key: value}) for name, (key, _, value) in pairs.items())
    return SlurmFacts(version="23.11", enforces_limits=is_enforced, qos=kinds, accounts=accounts)


def test_a_partition_without_limits_gives_what_is_wanted() -> None:
    assert limits() == JobLimits()
    assert (limits().nodes(2), limits().why(2), limits().refusal(1)) == (2, "", "")


def test_a_partition_of_single_nodes_gives_one_and_says_who_sets_it() -> None:
    one = limits(MaxNodes="1")
    assert one.nodes(2) == 1
    assert one.why(2) == "MaxNodes=1 of partition lab, scontrol show partition"
    assert (one.refusal(3), one.why(1)) == ("", "")


def test_a_partition_of_large_jobs_gets_its_minimum_or_says_that_it_cannot() -> None:
    found = limits(MinNodes="3")
    assert (found.nodes(2), found.refusal(3)) == (3, "")
    assert found.why(2).startswith("MinNodes=3 of partition lab")
    assert found.refusal(2) == (
        "jobs need 3 nodes or more (MinNodes=3 of partition lab, scontrol show partition), and 2 take jobs"
    )


@pytest.mark.parametrize("limit", ["MaxTRES:cpu=64,node=1", "MaxTRESPU:node=1", "GrpTRES:node=1"])
def test_a_qos_may_allow_one_node(limit: str) -> None:
    found = limits(site(normal=limit))
    assert found.nodes(2) == 1
    assert found.why(2) == f"{limit.replace(':', '=', 1)} of QoS normal, sacctmgr show"
    assert limits(site(normal=limit, is_enforced=False)).nodes(2) == 2, "Slurm does not enforce it"
    assert limits(site(normal=limit), qos="other").nodes(2) == 2


def test_cpus_are_hardware_threads_and_a_job_has_all_of_a_node() -> None:
    assert limits(site(normal="MaxTRES:cpu=63")).nodes(2) == 1
    assert limits(site(normal="MaxTRES:cpu=64")).nodes(2) == 2
    assert limits(site(normal="MaxTRES:cpu=16")).refusal(3) == (
        "no job gets a whole node (MaxTRES=cpu=16 of QoS normal, sacctmgr show)"
    )


def test_of_several_places_the_first_that_sets_a_limit_counts() -> None:
    slurm = site(
        part="MaxTRES:node=1",
        job="MaxTRES:node=5",
        accounts=(Account(name="home", limits={"MaxTRES": "node=3", "MaxWall": "00:04:00"}),),
    )
    assert limits(slurm, qos="job", QoS="part").nodes(9) == 1
    assert limits(slurm, account="home", qos="job").nodes(9) == 5
    mine = limits(slurm, account="home", qos="none")
    assert (mine.nodes(9), mine.max_minutes and mine.max_minutes.value) == (3, 4)
    assert "of your association with account home" in mine.why(9)


def test_a_qos_may_lift_the_partition_s_own_limits() -> None:
    lifts = site(big="Flags:PartitionMaxNodes,PartitionTimeLimit")
    found = limits(lifts, qos="big", MaxNodes="1", MaxTime="00:02:00")
    assert (found.nodes(2), found.max_minutes) == (2, None)


def test_the_shortest_time_counts_and_one_minute_is_too_little_for_tare() -> None:
    found = limits(site(normal="MaxWall:00:04:00"), MaxTime="00:02:00")
    assert found.max_minutes is not None
    assert (found.max_minutes.value, found.refusal(2)) == (2, "")
    assert "jobs end too soon (MaxTime=00:01:00 of partition lab" in limits(MaxTime="00:01:00").refusal(2)


def test_a_minimum_of_cpus_is_one_of_nodes() -> None:
    """Slurm 22.05.8 lets smaller jobs wait: QOSMinCpuNotSatisfied."""
    found = limits(site(normal="MinTRES:cpu=33"))
    assert (found.min_nodes and found.min_nodes.value, found.nodes(1)) == (2, 2)
    assert limits(site(normal="MinTRES:cpu=32")).min_nodes is None


def test_flags_of_the_partition_s_own_qos_lift_nothing() -> None:
    """Slurm 22.05.8 lets larger jobs wait: PartitionConfig."""
    assert limits(site(part="Flags:PartitionMaxNodes"), QoS="part", MaxNodes="1").nodes(2) == 1


def test_what_all_users_of_an_account_have_together_limits_a_job_at_each_account_above() -> None:
    """Slurm 22.05.8 lets larger jobs wait: AssocGrpNodeLimit. QoS that set GrpTRES go first."""
    (own,) = with_shared(
        [Account(name="team")], "root||\nhome|root|node=2\nteam|home|node=3\nx|root|node=1\n"
    )
    assert own.shared == {"team": "node=3", "home": "node=2"}
    accounts = (own,)
    found = limits(site(accounts=accounts), account="team")
    assert (found.nodes(9), found.why(9)) == (2, "GrpTRES=node=2 of account home, sacctmgr show")
    assert limits(site(normal="GrpTRES:node=5", accounts=accounts), account="team").nodes(9) == 5
    assert limits(site(normal="GrpTRES:cpu=999", accounts=accounts), account="team").nodes(9) == 2


def test_generic_resources_that_a_qos_demands_are_named_as_sbatch_takes_them() -> None:
    assert limits(site(gpu="MinTRES:cpu=1,gres/gpu=1"), QoS="gpu").gres == (
        "gpu:1",
        "MinTRES=cpu=1,gres/gpu=1 of QoS gpu, sacctmgr show",
    )


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("30", 30),
        ("02:30", 2),
        ("01:30:00", 90),
        ("1-00:00:00", 1440),
        ("2-12", 3600),
        ("x", None),
        ("", None),
    ],
)
def test_time_limits_are_read_in_each_form(text: str, minutes: int | None) -> None:
    assert minutes_in(text) == minutes


def test_limits_are_read_from_the_accounting() -> None:
    """Lines of Slurm 22.05.8: ``sacctmgr --noheader --parsable2 show associations`` and ``show qos``."""
    (account,) = read_accounts("home||normal,bench||cpu=100|node=1|00:10:00\n")
    assert account.limits == {"GrpTRES": "cpu=100", "MaxTRES": "node=1", "MaxWall": "00:10:00"}
    normal, gpu = read_qos("normal|||||||\ngpu|DenyOnLimit||node=2|||gres/gpu=1|1-00:00:00\nbroken|x\n")
    assert (normal.name, normal.limits) == ("normal", {})
    assert gpu.limits == {
        "Flags": "DenyOnLimit",
        "MaxTRES": "node=2",
        "MinTRES": "gres/gpu=1",
        "MaxWall": "1-00:00:00",
    }
