"""Campaigns in which a page may look bad: many sides, one, long names, nothing known, nothing done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from report.studies import hostile, telemetry_of, three_networks, with_gaps
from support.synthetic import make_campaign, make_case
from tare.core.attempt import Proof, Series
from tare.core.campaign import Campaign
from tare.core.job import Counters
from tare.core.packets import Counted
from tare.core.workload import Better, Fom
from tare.plugins.collectors.packets import store

LONG = "kubernetes-1.31.4-calico-vxlan-with-an-encrypted-overlay-and-network-policies"
WORD = "x" * 200


def ordinary(folder: Path) -> Campaign:
    """Three networks with some runs missing, with traffic, environments and outputs."""
    campaign = with_gaps(three_networks(blocks=6, folder=folder))
    networks = {case.id: str(case.network) for case in campaign.plan.cases}
    attempts = []
    for index, one in enumerate(campaign.attempts):
        evidence = folder / one.folder
        evidence.mkdir(parents=True)
        (evidence / "stdout").write_text("\n".join(f"{size:>10} {size / 7:>10.2f}" for size in range(40)))
        (evidence / "command.json").write_text('[{"argv": ["mpirun", "-n", "2", "IMB-MPI1", "PingPong"]}]')
        counted = Counted(interface="fab0", n_packets=40, sent=[(66, 30), (1514 - one.block, 9), (65226, 1)])
        store(evidence, {"n1": counted})
        sent = Counters(tx_bytes=10**8, tx_packets=10**5)
        attempts.append(
            msgspec.structs.replace(
                one,
                environment=networks[one.case],
                telemetry=telemetry_of(campaign.cases[one.case], one.block) if one.series else {},
                transport="" if one.reason else f"net-{networks[one.case]} carried it",
                proof=None if one.reason else Proof.COUNTED,
                traffic={host: {f"net-{networks[one.case]}": sent} for host in one.hosts},
                load=0.5 + index / 20,
            )
        )
    environments = {
        name: {host: {"kernel": "6.1.0", "mtu": mtu} for host in ("n1", "n2", "n3", "n4")}
        for name, mtu in (("host", "1500"), ("overlay", "1450"), ("macvlan", "1500"))
    }
    return msgspec.structs.replace(campaign, attempts=tuple(attempts), environments=environments)


def one_contender(folder: Path) -> Campaign:
    return make_campaign(noise=0.004, folder=folder)


def twelve_contenders(folder: Path) -> Campaign:
    names = ["host", *(f"network-{number:02}" for number in range(11)), LONG]
    ratio = {name: 1 + number / 12 for number, name in enumerate(names)}
    return make_campaign([make_case(name) for name in names], ratio=ratio, noise=0.01, folder=folder)


def long_names(folder: Path) -> Campaign:
    workload = "a-benchmark-suite.with_a_rather_long_name"
    cases = [make_case(name, workload=workload) for name in ("host", LONG, WORD)]
    return make_campaign(cases, blocks=5, folder=folder)


def undecided(folder: Path) -> Campaign:
    return make_campaign(ratio=1.0, noise=0.06, blocks=4, folder=folder)


def single_numbers(folder: Path) -> Campaign:
    """A suite of many figures of merit, each one number a run."""
    cases = [make_case(name, workload="suite") for name in ("host", "overlay", "macvlan")]
    campaign = make_campaign(cases, sizes=(65536,), noise=0.02, blocks=5, folder=folder)
    names = [
        f"{kind}_{unit}" for kind in ("HPL", "PTRANS", "RandomAccess", "Stream") for unit in ("MB", "us")
    ]
    foms = tuple(
        Fom(name=name, unit="us", better=Better.LOWER, is_primary=True, summary=f"Figure {name}")
        for name in names
    )
    attempts = tuple(
        msgspec.structs.replace(
            one,
            series=[
                Series(
                    fom=name, unit="us", better=Better.LOWER, values=[one.series[0].values[0] * (1 + index)]
                )
                for index, name in enumerate(names)
            ],
        )
        for one in campaign.attempts
    )
    plan = msgspec.structs.replace(campaign.plan, foms={"suite": foms})
    return msgspec.structs.replace(campaign, plan=plan, attempts=attempts)


def nothing_done(folder: Path) -> Campaign:
    return msgspec.structs.replace(three_networks(folder=folder), attempts=())


def without_reference(folder: Path) -> Campaign:
    return make_campaign(reference={}, blocks=3, folder=folder)


SITUATIONS: dict[str, Callable[[Path], Campaign]] = {
    "ordinary": ordinary,
    "hostile": hostile,
    "one-contender": one_contender,
    "twelve-contenders": twelve_contenders,
    "long-names": long_names,
    "undecided": undecided,
    "single-numbers": single_numbers,
    "nothing-done": nothing_done,
    "without-reference": without_reference,
}
