"""Choose partition, account and QoS of Slurm's jobs.

They are what the user names; else Slurm's default, if jobs run there, and what the partition demands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

import msgspec

from tare.app.init.job_limits import limits_of
from tare.app.init.node_choice import class_nodes, node_class
from tare.config.expansion import expand_nodes
from tare.core.errors import UsageError
from tare.discovery.facts import Partition, SlurmFacts

Choose = Callable[[str, Sequence[str], str], str]
"""Asks a question with options and a default, and returns one of the options."""

_SLURMS_DEFAULT = "Slurm's default"
_NO_QOS = "normal"  # what jobs get whose association has no default (sacctmgr(1))


class Chosen(msgspec.Struct, frozen=True):
    """A value, empty to leave it to Slurm, and where it comes from."""

    value: str = ""
    origin: str = ""


class Submitter(msgspec.Struct, frozen=True, kw_only=True):
    """Who submits jobs, and from where: the user's groups, and this host's name."""

    groups: Collection[str] = ()
    host: str = ""
    is_root: bool = False


def partition_of(slurm: SlurmFacts, wish: str, submitter: Submitter, choose: Choose) -> tuple[Partition, str]:
    """Return the partition for the runs, and why it is none that Slurm would take; empty if it is.

    Raises UsageError for a `wish` that is not up.
    """
    able = [one for one in slurm.partitions if one.is_up and one.nodes]
    up = [one for one in able if not one.is_hidden or one.name == wish] or able
    by_name = {one.name: one for one in up}
    if wish:
        if wish not in by_name:
            known = ", ".join(by_name)
            raise UsageError(f"no partition {wish!r} is up; --partition takes one of {known}")
        named = msgspec.structs.replace(by_name[wish], is_hidden=False)
        against = _refusal(slurm, named, submitter)
        return by_name[wish], f"partition {wish}: --partition, although {against}" if against else ""
    usable = [one for one in up if not _refusal(slurm, one, submitter)]
    default = (usable or up)[0]
    name = choose("Partition for the runs", list(by_name), default.name)
    if name != default.name or default.is_default:
        return by_name[name], ""
    slurms = next((one for one in slurm.partitions if one.is_default), None)
    why = _refusal(slurm, slurms, submitter) if slurms else "Slurm has no default partition"
    which = "the first that takes your jobs" if usable else "the first, though none seems to take your jobs"
    return default, f"partition {default.name}: {why}; this is {which}, and --partition names another"


def _refusal(slurm: SlurmFacts, partition: Partition, submitter: Submitter) -> str:
    """Return why no job of this user runs in the partition; empty if one may."""
    name = f"Slurm's partition {partition.name}" if partition.is_default else f"partition {partition.name}"
    if not partition.is_up:
        return f"{name} is not up"
    if partition.is_hidden:
        return f"{name} is hidden"
    if not partition.usable:
        return f"{name} has no node that takes jobs now"
    if key := _closed_to(submitter, partition):
        return f"{name} has {key}={partition.limits[key]}"
    here = [one for one in slurm.accounts if one.partition in ("", partition.name)]
    if slurm.accounts and not _allowed([one.name for one in here], partition, "Accounts"):
        return f"{name} takes none of your accounts"
    qos = [name for one in here for name in one.qos]
    if qos and not submitter.is_root and not _allowed(qos, partition, "Qos"):
        return f"{name} takes none of your QoS"
    refusal = limits_of(slurm, partition, node_class(partition)[0]).refusal(len(class_nodes(partition)))
    return f"{name} runs no job of Tare: {refusal}" if refusal else ""


def _closed_to(submitter: Submitter, partition: Partition) -> str:
    """Return the entry of the partition by which the submitter's jobs are refused; empty if there is none.

    Root may use any partition, but not from any node, nor without a reservation (slurm.conf(5)).
    """
    limits = partition.limits
    nodes = _names(limits.get("AllocNodes", ""))
    if nodes and submitter.host and submitter.host.partition(".")[0] not in nodes:
        return "AllocNodes"
    if limits.get("ReqResv") == "YES":
        return "ReqResv"
    if submitter.is_root:
        return ""
    if limits.get("RootOnly") == "YES":
        return "RootOnly"
    groups = _names(limits.get("AllowGroups", ""))
    return "AllowGroups" if groups and not groups & set(submitter.groups) else ""


def _names(text: str) -> set[str]:
    """Return the names in a list with ranges, such as ``login[1-2],admin``."""
    found: set[str] = set()
    for part in re.split(r",(?![^\[]*\])", text):
        try:
            found.update(expand_nodes(part) if part else ())
        except ValueError:
            found.add(part)
    return found


def account_of(slurm: SlurmFacts, partition: Partition, wish: str, choose: Choose) -> Chosen:
    """Return the account to charge. Raises UsageError for a `wish` that this user may not charge."""
    here = [one.name for one in slurm.accounts if one.partition in ("", partition.name)]
    accounts = list(dict.fromkeys(here))
    if wish:
        if accounts and wish not in accounts:
            raise UsageError(f"no account {wish!r}; --account takes one of {', '.join(accounts)}")
        return Chosen(wish, f"account {wish}: --account")
    allowed = _allowed(accounts, partition, "Accounts")
    default = slurm.default_account
    if demand := _demand(default, allowed, partition, "Accounts"):
        account = choose("Account to charge", allowed, allowed[0])
        return Chosen(account, f"account {account}: {demand}, and yours is {default or 'not known'}")
    if len(allowed) < 2:
        return Chosen()
    account = choose("Account to charge", [_SLURMS_DEFAULT, *allowed], _SLURMS_DEFAULT)
    return Chosen() if account == _SLURMS_DEFAULT else Chosen(account, f"account {account}: chosen")


def qos_of(slurm: SlurmFacts, partition: Partition, account: str, wish: str, choose: Choose) -> Chosen:
    """Return the QoS to ask for with `account`. Raises UsageError for a `wish` that this user may not use."""
    here = [one for one in slurm.accounts if one.partition in ("", partition.name)]
    own = [one for one in here if one.name == (account or slurm.default_account)] or here
    usable = list(dict.fromkeys(name for one in own for name in one.qos))
    if wish:
        if usable and wish not in usable:
            raise UsageError(f"no QoS {wish!r}; --qos takes one of {', '.join(usable)}")
        return Chosen(wish, f"qos {wish}: --qos")
    default = next((one.default_qos for one in own if one.default_qos), _NO_QOS)
    allowed = _allowed(usable, partition, "Qos")
    demand = _demand(default, allowed, partition, "Qos")
    if not demand:
        return Chosen()
    qos = choose("QoS of the jobs", allowed, allowed[0])
    return Chosen(qos, f"qos {qos}: {demand}, and jobs that name none get {default}")


def _allowed(names: Sequence[str], partition: Partition, kind: str) -> list[str]:
    """Return those of `names` that the partition takes."""
    allows, denies = (partition.limits.get(f"{word}{kind}", "").split(",") for word in ("Allow", "Deny"))
    if allows != [""]:  # the other list is then not enforced (slurm.conf(5), AllowAccounts)
        return [one for one in names if one in allows]
    return [one for one in names if one not in denies]


def _demand(default: str, allowed: Sequence[str], partition: Partition, kind: str) -> str:
    """Return what the partition demands if jobs that name nothing are refused there; else an empty text."""
    if not allowed or default in allowed:
        return ""
    for key in (f"Allow{kind}", f"Deny{kind}"):
        if limit := partition.limits.get(key):
            return f"partition {partition.name} has {key}={limit} (scontrol show partition)"
    return ""
