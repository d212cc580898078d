"""No part of a report takes a time that grows faster than the campaign: no search through all for each."""

from __future__ import annotations

import cProfile
from collections import Counter
from collections.abc import Callable

import pytest

from report.studies import content_of
from support.synthetic import make_campaign, make_case
from tare.core.campaign import Campaign

_FEW, _TIMES = 16, 4
_MOST_TIMES = 1.6 * _TIMES
_LEAST_CALLS = 400
"""A function that is called less often may do so because noise looks otherwise in another campaign."""


def levels_of_a_workload(n: int) -> Campaign:
    cases = [make_case(name, parameters={"level": one}) for one in range(n) for name in ("host", "overlay")]
    return make_campaign(cases, noise=0.01)


def workloads(n: int) -> Campaign:
    names = [f"synthetic.w{number:03}" for number in range(n)]
    networks = ("host", "overlay")
    return make_campaign(
        [make_case(one, workload=name, nodes=nodes) for name in names for nodes in (2, 4) for one in networks]
    )


def blocks(n: int) -> Campaign:
    return make_campaign(blocks=4 * n, noise=0.01)


def calls_of(campaign: Campaign) -> Counter[str]:
    """Return how often each function of Tare is called to make the content of a page."""
    profile = cProfile.Profile()
    profile.runcall(content_of, campaign)
    found: Counter[str] = Counter()
    for one in profile.getstats():
        if not isinstance(one.code, str) and "/tare/" in one.code.co_filename:
            code = one.code
            found[f"{code.co_filename}:{code.co_firstlineno} {code.co_name}"] += one.callcount
    return found


@pytest.mark.parametrize("made", [levels_of_a_workload, workloads, blocks])
def test_four_times_the_campaign_takes_no_more_than_four_times_the_calls(
    made: Callable[[int], Campaign],
) -> None:
    calls_of(made(_FEW))  # what is imported, or kept for the process, is not counted
    few, many = calls_of(made(_FEW)), calls_of(made(_TIMES * _FEW))
    grown = {
        name: f"{few[name]} to {n}"
        for name, n in many.items()
        if n >= _LEAST_CALLS and n > _MOST_TIMES * few[name]
    }
    assert not grown
