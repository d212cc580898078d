"""Campaigns for tests of the report, and their answers."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from support.synthetic import make_campaign, make_case
from tare.core.attempt import Attempt, Proof, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.telemetry import Epoch, Timeline, Track
from tare.core.workload import Better, Fom
from tare.report.charts.painting import Painter
from tare.report.content import Content, PartT, content
from tare.report.formats.page import render
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.quality import noises, quality_facts
from tare.report.variants import lay_out
from tare.report.words.accounting import account
from tare.report.words.answer import Answer, answer_all

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}\u202e\x1b[31m\ufffe"
"""Ends a script, starts another, breaks attributes, expands templates, turns text round, colours it."""


def answers_of(campaign: Campaign) -> ReportStatistics:
    return ReportStatistics.of(campaign)


def words_of(campaign: Campaign) -> list[Answer]:
    answers = answers_of(campaign)
    variants = lay_out(campaign, answers.comparisons)
    return answer_all(answers.headlines, answers.overview, variants, campaign.plan.margin)


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


def said_of(campaign: Campaign) -> str:
    """Return the answer for the only contender, with what stands beside it, in plain spaces."""
    answers = answers_of(campaign)
    variants = lay_out(campaign, answers.comparisons)
    (answer,) = answer_all(
        answers.headlines, answers.overview, variants, campaign.plan.margin, answers.aggregates
    )
    return plain(f"{answer.sentence} {answer.beside}").strip()


def facts_of(campaign: Campaign) -> dict[str, str]:
    answers = answers_of(campaign)
    variants = lay_out(campaign, answers.comparisons)
    return dict(quality_facts(campaign, account(campaign), noises(answers.estimates, campaign, variants)))


def content_of(campaign: Campaign) -> Content:
    found = content(campaign, answers_of(campaign), painter=Painter(), read_timeline=steady)
    for one in found.sections:
        assert "could not be made" not in str(one.part), one.part  # a section, or a chart
    return found


def part_of(found: Content, kind: type[PartT]) -> PartT:
    """Return the content of the section that has one of type `kind`."""
    part = found.part(kind)
    assert part is not None
    return part


def steady(attempt: Attempt) -> Timeline | None:
    """Return what the hosts of a watched attempt did: much the same all the time."""
    if not attempt.telemetry:
        return None
    since, at = (0.0, 1.0, 2.0), (1.0, 2.0, 3.0)
    values: dict[str, tuple[float, ...]] = {
        "cpu_busy": (90.0, 80.0, 95.0),
        "cpu_system": (9.0, 20.0, 15.0),
        "network_rate": (0.0, 2e9, 1e9),
    }
    tracks = tuple(Track(host=host, since=since, at=at, values=values) for host in attempt.hosts)
    return Timeline(tracks=tracks, epochs=(Epoch("prepare", 0.0, 1.0), Epoch("solve", 1.0, 3.0)))


def telemetry_of(case: Case, block: int) -> dict[str, float]:
    """Return figures that differ by what is not the host network."""
    factor = (1.0 if case.network == "host" else 1.8) * (1 + block % 3 / 100)
    lost = 0.0 if case.network == "host" else 40.0 * factor
    return {"cpu_system": 10 * factor, "context_switches": 1000 * factor, "tcp_retransmits": lost}


def page_of(campaign: Campaign) -> str:
    return render(campaign, content_of(campaign))


def three_networks(blocks: int = 5, noise: float = 0.004, folder: Path = Path("synthetic")) -> Campaign:
    """Return a campaign in which overlay costs half as much again and macvlan nothing, on 2 and 4 nodes."""
    cases = [
        make_case(network, nodes=nodes) for nodes in (2, 4) for network in ("host", "overlay", "macvlan")
    ]
    return make_campaign(
        cases, ratio={"overlay": 1.5, "macvlan": 1.0}, noise=noise, blocks=blocks, folder=folder
    )


def with_gaps(
    campaign: Campaign, reason: str = "eth0 carried the data", check: str = "transport"
) -> Campaign:
    """Return `campaign` with one run failed, one invalid, one lost, one never begun, and one tried twice."""
    attempts = list(campaign.attempts)
    states = (State.FAILED, State.INVALID, State.LOST)
    for index, state in enumerate(states):
        attempts[index] = msgspec.structs.replace(
            attempts[index], state=state, reason=reason, check=check, series=[]
        )
    attempts[5:6] = [
        msgspec.structs.replace(attempts[5], state=State.LOST, reason="node went away", series=[]),
        msgspec.structs.replace(attempts[5], attempt=2),
    ]
    del attempts[-1]
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def hostile(folder: Path, text: str = HOSTILE, sizes: tuple[int, ...] = (2,)) -> Campaign:
    """Return a campaign on `sizes` of nodes whose every free text is `text`, as is the evidence on disk."""
    cases = [
        make_case(network, nodes=nodes, workload=f"w{text}")
        for nodes in sizes
        for network in ("host", f"overlay{text}")
    ]
    campaign = with_gaps(make_campaign(cases, ratio=1.5, blocks=6, folder=folder), text, text)
    fom = Fom(name=text, unit=text, better=Better.LOWER, by=("bytes", text), is_primary=True)
    attempts = tuple(
        msgspec.structs.replace(
            one,
            transport=text,
            proof=Proof.REPORTED,
            telemetry=telemetry_of(campaign.cases[one.case], one.block) if one.series else {},
            hosts=[*one.hosts, f"n{text}"],
            environment="e",
            series=[*one.series, *([_hostile_series(one.block, text)] if one.series else [])],
        )
        for one in campaign.attempts
    )
    for one in attempts:
        evidence = folder / one.folder
        evidence.mkdir(parents=True)
        (evidence / "stdout").write_text(text)
        (evidence / "command.json").write_bytes(
            msgspec.json.encode([{"argv": [text], "env": {text: text}, "host": text}])
        )
    return msgspec.structs.replace(
        campaign,
        attempts=attempts,
        plan=msgspec.structs.replace(
            campaign.plan,
            study=text,
            question=text,
            site=text,
            foms={name: (*foms, fom) for name, foms in campaign.plan.foms.items()},
        ),
        environments={"e": {text: {text: text}, "n2": {text: "other"}}},
    )


def _hostile_series(block: int, text: str) -> Series:
    return Series(
        fom=text,
        unit=text,
        better=Better.LOWER,
        at={"bytes": [1, 2], text: [text, text]},
        values=[1.0 + block / 100, 2.0],
    )
