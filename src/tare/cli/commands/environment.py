"""`tare environment`: show the facts of a campaign's nodes, and how two nodes or campaigns differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from tare.analysis.confounding import Difference, differences, values_of
from tare.cli.options import WholeList
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.values import is_written
from tare.terminal.output import echo, json_option, print_json, print_table

_WIDEST = 60  # characters of a value in a table; the JSON has the whole value


@click.group(cls=WholeList)
def command() -> None:
    """Show facts about the nodes of campaigns, and how two nodes or campaigns differ.

    Facts are recorded for each node: kernel, CPU, mitigations, memory, NICs, MPI, programs and the libraries
    that they load, limits, modules and variables. Of variables that may be secret, only the name is recorded.
    """


@command.command()
@click.argument("where", metavar="DIR[:WHICH]")
@json_option
def show(where: str, as_json: bool) -> None:
    """Show the facts of the campaign in DIR; facts that all nodes share are shown once.

    WHICH is a node, or settings such as network=host,nodes=2.

    \b
    Examples:
      tare environment show campaigns/demo
      tare environment show campaigns/demo:n1
      tare environment show campaigns/demo:network=overlay --json
    """
    hosts = _hosts(where)
    values = values_of(facts for found in hosts.values() for facts in found)
    if as_json:
        body = {"where": where, "hosts": sorted(hosts), "facts": {k: sorted(v) for k, v in values.items()}}
        print_json("tare.environment/1", body)
        return
    echo(f"{', '.join(sorted(hosts))}", "")
    print_table(
        ("fact", "value"), [(fact, "; ".join(sorted(found))) for fact, found in sorted(values.items())]
    )


@command.command()
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@json_option
def diff(left: str, right: str, as_json: bool) -> None:
    """Show the facts that differ between A and B.

    A and B are each DIR, a campaign, or DIR:WHICH, where WHICH is a node, or settings such as
    network=host,nodes=2.

    \b
    Examples:
      tare environment diff campaigns/before campaigns/after
      tare environment diff campaigns/demo:network=host campaigns/demo:network=overlay
      tare environment diff campaigns/demo:n1 campaigns/demo:n2
    """
    mine, theirs = (
        values_of(facts for found in _hosts(where).values() for facts in found) for where in (left, right)
    )
    found = differences(mine, theirs)
    n_same = len({*mine, *theirs}) - len(found)
    if as_json:
        print_json("tare.environment.diff/1", {"a": left, "b": right, "n_same": n_same, "differences": found})
        return
    if found:
        print_table(("fact", left, right), [_row(one) for one in found])
        echo()
    differ = count(len(found), "fact differs", "facts differ")
    echo(f"{differ}, {count(n_same, 'is', 'are')} the same.")


def _row(one: Difference) -> tuple[str, str, str]:
    left, right = ("; ".join(values) or "not recorded" for values in (one.left, one.right))
    if max(len(left), len(right)) > _WIDEST:
        left, right = _differing_parts(left, right)
    return one.fact, left, right


def _differing_parts(left: str, right: str) -> tuple[str, str]:
    """Return the parts of two long texts that begin a little before their first difference."""
    same = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    start = max(same - _WIDEST // 3, 0)
    return _cut(left, start), _cut(right, start)


def _cut(text: str, start: int) -> str:
    end = start + _WIDEST
    return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")


def _hosts(where: str) -> dict[str, list[dict[str, str]]]:
    """Return the facts of the hosts that ``DIR[:WHICH]`` names; a list for each host, as facts may change."""
    from tare.storage.pseudonymous import read_shown

    folder, which = _split(where)
    campaign = read_shown(Path(folder))
    which = campaign.pseudonyms.only(which)
    settings = dict(part.partition("=")[::2] for part in which.split(",")) if "=" in which else {}
    hosts = _by_host(campaign, settings)
    if which and not settings:
        hosts = {host: found for host, found in hosts.items() if host == which}
    if not hosts:
        raise UsageError(f"{where}: no recorded environment is of that; {_choice(campaign, settings)}")
    return hosts


def _split(where: str) -> tuple[str, str]:
    """Split ``DIR[:WHICH]`` into the folder and WHICH; both may contain colons."""
    from tare.storage.campaign import is_campaign

    words = where.split(":")
    for n in range(len(words), 0, -1):
        folder = ":".join(words[:n])
        if is_campaign(Path(folder)):
            return folder, ":".join(words[n:])
    folder, colon, which = where.rpartition(":")
    return (folder, which) if colon else (which, "")


def _choice(campaign: Campaign, settings: Mapping[str, str]) -> str:
    """Return what the user can name instead: values of the settings, or settings and hosts."""
    plan = campaign.plan
    known = sorted({host for one in campaign.environments.values() for host in one})
    if not known:
        return "this campaign has recorded none"
    levels: dict[str, dict[str, None]] = {}
    for case in plan.cases:
        for name, value in case.settings.items():
            levels.setdefault(name, {})[plan.written(name, value)] = None
    if settings and settings.keys() <= levels.keys():
        return ", and ".join(f"{name} is one of {', '.join(levels[name])}" for name in settings)
    return f"its hosts are {', '.join(known)}, and its settings {', '.join(levels)}"


def _suits(case: Case, settings: Mapping[str, str]) -> bool:
    return all(
        key in case.settings and is_written(case.settings[key], value) for key, value in settings.items()
    )


def _by_host(campaign: Campaign, settings: Mapping[str, str]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    seen: set[str] = set()
    for attempt in campaign.attempts:
        name = attempt.environment
        if name is None or name in seen or name not in campaign.environments:
            continue
        case = campaign.cases.get(attempt.case)
        if case is None or not _suits(case, settings):
            continue
        seen.add(name)
        for host, facts in campaign.environments[name].items():
            found.setdefault(host, []).append(facts)
    return found
