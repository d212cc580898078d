"""Account and QoS in the written site: those that the user names, or that the partition demands."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tare.app.init.slurm_choice import Chosen, Submitter, account_of, partition_of, qos_of
from tare.core.errors import UsageError
from tare.discovery.facts import Account, NodeClass, Partition, SlurmFacts

SLURM = SlurmFacts(
    version="23.11",
    accounts=(
        Account(name="home", qos=("normal",)),
        Account(name="proj42", qos=("normal", "bench", "long"), default_qos="normal"),
        Account(name="elsewhere", partition="gpu", qos=("gpu",)),
    ),
    default_account="home",
)


USER = Submitter(groups={"users"}, host="login1.site.org")
ADMIN = Submitter(groups={"wheel"}, host="login1")


def partition(**limits: str) -> Partition:
    return Partition(name="compute", limits=limits)


def default(question: str, options: Sequence[str], chosen: str) -> str:
    assert chosen in options
    return chosen


def asked_nothing(question: str, options: Sequence[str], chosen: str) -> str:
    raise AssertionError(question)


def test_a_partition_without_limits_demands_nothing() -> None:
    assert account_of(SLURM, partition(), "", default) == Chosen()
    assert qos_of(SLURM, partition(), "", "", asked_nothing) == Chosen()


def test_an_account_is_named_where_the_partition_does_not_take_the_default_one() -> None:
    found = account_of(SLURM, partition(AllowAccounts="proj42,other"), "", default)
    assert found.value == "proj42"
    assert found.origin == (
        "account proj42: partition compute has AllowAccounts=proj42,other (scontrol show partition), "
        "and yours is home"
    )
    assert account_of(SLURM, partition(DenyAccounts="home"), "", default).value == "proj42"
    assert account_of(SLURM, partition(AllowAccounts="home"), "", asked_nothing) == Chosen()


def test_a_qos_is_named_where_the_partition_does_not_take_the_default_one() -> None:
    demanding = partition(AllowQos="bench,debug")
    found = qos_of(SLURM, demanding, "proj42", "", default)
    assert found.value == "bench"
    assert "has AllowQos=bench,debug" in found.origin
    assert found.origin.endswith("jobs that name none get normal")
    assert qos_of(SLURM, partition(DenyQos="normal"), "proj42", "", default).value == "bench"
    assert qos_of(SLURM, partition(AllowQos="normal"), "proj42", "", asked_nothing) == Chosen()


def test_what_the_user_may_not_use_is_no_choice() -> None:
    assert qos_of(SLURM, partition(AllowQos="gpu"), "home", "", asked_nothing) == Chosen()
    with pytest.raises(UsageError, match="no account 'elsewhere'; --account takes one of home, proj42"):
        account_of(SLURM, partition(), "elsewhere", asked_nothing)
    with pytest.raises(UsageError, match="no QoS 'gpu'; --qos takes one of normal, bench, long"):
        qos_of(SLURM, partition(), "proj42", "gpu", asked_nothing)


def test_what_the_user_names_is_taken_where_slurm_has_no_accounting() -> None:
    bare = SlurmFacts(version="23.11")
    assert account_of(bare, partition(), "mine", asked_nothing) == Chosen("mine", "account mine: --account")
    assert qos_of(bare, partition(), "mine", "fast", asked_nothing) == Chosen("fast", "qos fast: --qos")
    assert account_of(bare, partition(AllowAccounts="x"), "", asked_nothing) == Chosen()


def site_with(*partitions: Partition) -> SlurmFacts:
    return SlurmFacts(version="23.11", accounts=SLURM.accounts, partitions=partitions)


def queue(name: str, *, state: str = "", is_default: bool = False, **limits: str) -> Partition:
    kind = NodeClass(nodes=("n1",), faults={"n1": state} if state else {})
    return Partition(name=name, is_default=is_default, classes=(kind,), limits=limits)


def test_without_a_default_partition_the_first_that_the_user_may_use_is_chosen_and_said() -> None:
    closed = (
        queue("admin", AllowGroups="wheel"),
        queue("dead", state="DOWN"),
        queue("foreign", AllowAccounts="theirs"),
        queue("express", AllowQos="express"),
    )
    found, why = partition_of(site_with(*closed, queue("std"), queue("more")), "", USER, default)
    assert found.name == "std"
    assert why == (
        "partition std: Slurm has no default partition; this is the first that takes your jobs, and "
        "--partition names another"
    )
    assert partition_of(site_with(*closed), "", ADMIN, default)[0].name == "admin"


def test_a_default_partition_that_takes_no_jobs_of_the_user_is_passed_over_with_the_reason() -> None:
    open_one = queue("open")
    shut = queue("main", state="IDLE+DRAIN", is_default=True)
    found, why = partition_of(site_with(shut, open_one), "", USER, default)
    assert (found.name, "Slurm's partition main has no node that takes jobs now" in why) == ("open", True)
    down = Partition(name="main", is_default=True, is_up=False, classes=open_one.classes)
    assert "Slurm's partition main is not up" in partition_of(site_with(down, open_one), "", USER, default)[1]
    assert partition_of(site_with(shut), "", USER, default)[0].name == "main", "there is no other"


def test_a_default_partition_that_is_too_small_for_its_own_jobs_is_passed_over_with_the_reason() -> None:
    site = site_with(queue("large", is_default=True, MinNodes="4"), queue("std"))
    found, why = partition_of(site, "", USER, default)
    assert found.name == "std"
    assert "Slurm's partition large runs no job of Tare: jobs need 4 nodes or more (MinNodes=4" in why


def test_slurm_s_own_default_or_what_the_user_names_needs_no_reason() -> None:
    site = site_with(queue("main", is_default=True), queue("std"))
    assert partition_of(site, "", USER, default) == (site.partitions[0], "")
    assert partition_of(site, "std", USER, asked_nothing) == (site.partitions[1], "")
    with pytest.raises(UsageError, match="no partition 'gone' is up; --partition takes one of main, std"):
        partition_of(site, "gone", USER, asked_nothing)


def test_where_all_partitions_are_hidden_they_are_offered() -> None:
    hidden = Partition(name="own", is_hidden=True, classes=(NodeClass(nodes=("n1",)),))
    assert partition_of(site_with(hidden), "", USER, default)[0] == hidden


@pytest.mark.parametrize(
    ("key", "value"),
    [("AllocNodes", "adm,login[2-3]"), ("RootOnly", "YES"), ("ReqResv", "YES"), ("AllowGroups", "wheel,adm")],
)
def test_a_partition_that_takes_no_jobs_of_this_user_from_here_is_passed_over(key: str, value: str) -> None:
    """Slurm 22.05.8 refuses each: "Access/permission denied"."""
    site = site_with(queue("main", is_default=True, **{key: value}), queue("open"))
    found, why = partition_of(site, "", USER, default)
    assert found.name == "open"
    assert f"Slurm's partition main has {key}={value}; this is the first that takes your jobs" in why
    found, why = partition_of(site, "main", USER, asked_nothing)
    assert (found.name, why) == (
        "main",
        f"partition main: --partition, although Slurm's partition main has {key}={value}",
    )


def test_root_may_use_any_partition_but_not_from_anywhere_or_without_a_reservation() -> None:
    root = Submitter(groups={"root"}, host="login1", is_root=True)
    for key, value in (("RootOnly", "YES"), ("AllowGroups", "wheel"), ("AllocNodes", "login[1-2]")):
        site = site_with(queue("main", is_default=True, **{key: value}), queue("open"))
        assert partition_of(site, "", root, default)[0].name == "main"
    for key, value in (("AllocNodes", "login[2-3]"), ("ReqResv", "YES")):
        site = site_with(queue("main", is_default=True, **{key: value}), queue("open"))
        assert partition_of(site, "", root, default)[0].name == "open"


def test_what_a_partition_allows_counts_and_not_what_it_denies_too() -> None:
    """slurm.conf(5): "If AllowAccounts is used then DenyAccounts will not be enforced"."""
    both = partition(AllowAccounts="home,proj42", DenyAccounts="home")
    assert account_of(SLURM, both, "", default) == Chosen()


def test_a_hidden_partition_that_the_user_names_is_taken_without_a_word() -> None:
    hidden = Partition(name="own", is_hidden=True, classes=(NodeClass(nodes=("n1",)),))
    assert partition_of(site_with(queue("main"), hidden), "own", USER, asked_nothing) == (hidden, "")
