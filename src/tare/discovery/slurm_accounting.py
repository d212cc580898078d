"""Read Slurm's accounting: which accounts and QoS a user has, and what these allow a job (sacctmgr(1))."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tare.discovery.commands import Commands, Report, text_of
from tare.discovery.facts import Account, Qos

_MANAGER = ("sacctmgr", "--noheader", "--parsable2", "show")
_OF_ASSOCIATIONS = ("GrpTRES", "MaxTRES", "MaxWall")
_OF_TREE = ("Account", "ParentName", "GrpTRES")
_OF_QOS = ("Flags", "GrpTRES", "MaxTRES", "MaxTRESPU", "MaxTRESPA", "MinTRES", "MaxWall")
_ALLOWS_ALL = {"", "-1", "N/A"}


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """What the accounting of a cluster says of a user."""

    accounts: tuple[Account, ...] = ()
    default_account: str = ""
    qos: tuple[Qos, ...] = ()


def find_accounting(commands: Commands, user: str, cluster: str, report: Report) -> Accounting:
    """Return the user's associations, and all QoS; what sacctmgr does not say is reported, and left out."""
    own = [f"cluster={cluster}"] if cluster else []
    columns = ",".join(("Account", "Partition", "QOS", "DefaultQOS", *_OF_ASSOCIATIONS))
    associations = [*_MANAGER, "associations", f"user={user}", *own, f"format={columns}"]
    accounts = tuple(read_accounts(text_of(commands, associations, report) or ""))
    tree = commands.run([*_MANAGER, "associations", "user=", *own, f"format={','.join(_OF_TREE)}"])
    if tree and tree.code == 0:
        accounts = tuple(with_shared(accounts, tree.out))
    default = commands.run([*_MANAGER, "user", user, "format=DefaultAccount"])
    qos = commands.run([*_MANAGER, "qos", f"format={','.join(('Name', *_OF_QOS))}"])
    return Accounting(
        accounts=accounts,
        default_account=_one_name(default.out) if default and default.code == 0 else "",
        qos=tuple(read_qos(qos.out)) if qos and qos.code == 0 else (),
    )


def read_accounts(text: str) -> Iterator[Account]:
    """Yield the accounts in the lines ``ACCOUNT|PARTITION|QOS,…|DEFAULT|LIMIT…`` of sacctmgr."""
    for line in text.splitlines():
        name, *rest = line.strip().split("|")
        if name and len(rest) in (2, 3, 3 + len(_OF_ASSOCIATIONS)):
            partition, qos, default, *limits = [*rest, ""]
            yield Account(
                name=name,
                partition=partition,
                qos=tuple(one for one in qos.split(",") if one),
                default_qos=default,
                limits=_limits(_OF_ASSOCIATIONS, limits),
            )


def with_shared(accounts: Sequence[Account], text: str) -> Iterator[Account]:
    """Yield the accounts with what they and those above them have in common, from ``ACCOUNT|PARENT|GRPTRES``.

    An association shows the MaxTRES and MaxWall that it inherits, and not the GrpTRES (sacctmgr(1)).
    """
    rows = [line.strip().split("|") for line in text.splitlines()]
    known = {row[0]: (row[1], row[2]) for row in rows if len(row) == len(_OF_TREE)}
    for one in accounts:
        shared: dict[str, str] = {}
        name = one.name
        while name in known and name not in shared:
            above, shared[name] = known[name]
            name = above
        given = {name: value for name, value in shared.items() if value not in _ALLOWS_ALL}
        yield msgspec.structs.replace(one, shared=given)


def read_qos(text: str) -> Iterator[Qos]:
    """Yield the QoS in the lines ``NAME|LIMIT…`` of sacctmgr."""
    for line in text.splitlines():
        name, *values = line.strip().split("|")
        if name and len(values) == len(_OF_QOS):
            yield Qos(name=name, limits=_limits(_OF_QOS, values))


def _limits(names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    pairs = zip(names, values, strict=False)
    return {name: value for name, value in pairs if value not in _ALLOWS_ALL}


def _one_name(text: str) -> str:
    """Return the name on the only line of `text`; empty if there is another number of them."""
    lines = text.split("\n")
    return lines[0].strip() if len(lines) <= 2 and "|" not in text else ""
