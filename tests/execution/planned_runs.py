"""Plans of three cases, and attempts of a second each that begin one after the other."""

from __future__ import annotations

import itertools

from support.synthetic import make_case
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.core.plan import Plan
from tare.core.study import Repeats

CASES = tuple(make_case(network) for network in ("host", "overlay", "macvlan"))


def make_plan(repeats: Repeats = Repeats(min=3, max=3), *, warmup: int = 0, retries: int = 2) -> Plan:
    return Plan(
        study="s",
        site="here",
        cases=CASES,
        repeats=repeats,
        warmup=warmup,
        retries=retries,
        reference={"network": "host"},
    )


_SECONDS = itertools.count()
"""When runs begin, each a second after the one before."""


def attempt(
    case: Case, run: Run, number: int, state: State = State.DONE, *, is_infrastructure: bool = False
) -> Attempt:
    return Attempt(
        case=case.id,
        block=run.block,
        attempt=number,
        state=state,
        is_infrastructure=is_infrastructure,
        reason="" if state is State.DONE else "because",
        started_at=float(next(_SECONDS)),
        elapsed_s=1.0,
        hosts=["n1", "n2"],
    )


def done(case: Case, run: Run, number: int) -> Attempt:
    return attempt(case, run, number)
