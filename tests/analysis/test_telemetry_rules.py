"""Rules that speak of what the nodes did meanwhile."""

from __future__ import annotations

import msgspec
import pytest

from support.synthetic import make_campaign
from tare.analysis.checking.check import Check, Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.core.campaign import Campaign
from tare.core.errors import UsageError

HOST, OVERLAY = (
    {
        "cpu_system": 10.0,
        "tcp_retransmits": 0.0,
        "network_packet_size": 1500.0,
        "network_rate": 1.0e8,
        "interrupts": 2000.0,
    },
    {
        "cpu_system": 15.0,
        "tcp_retransmits": 400.0,
        "network_packet_size": 1450.0,
        "network_rate": 0.9e8,
        "interrupts": 6000.0,
    },
)


def watched(*, blind: str = "") -> Campaign:
    """Return a campaign with telemetry that scatters by a thousandth; none on the network `blind`."""
    campaign = make_campaign(blocks=6, sizes=(1024,))
    attempts = []
    for one in campaign.attempts:
        network = campaign.cases[one.case].network
        figures = HOST if network == "host" else OVERLAY
        noisy = {name: value * (1 + one.block / 1000) for name, value in figures.items()}
        attempts.append(msgspec.structs.replace(one, telemetry={} if network == blind else noisy))
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def checked(text: str, campaign: Campaign | None = None) -> Check:
    rule = parse_rule(RuleSource(text=text, kind=Kind.FAIL_IF, where="--fail-if"))
    return check(campaign or watched(), [rule])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value(telemetry.cpu_system) > 12 %", Outcome.FAIL),
        ("value(telemetry.cpu_system, network=host) > 12 %", Outcome.PASS),
        ("ratio(telemetry.cpu_system, network=overlay) > 1.4", Outcome.FAIL),
        ("overhead(telemetry.cpu_system, network=overlay) > 60 %", Outcome.PASS),
        ("value(telemetry.network_packet_size, network=overlay) < 1.4 KiB", Outcome.PASS),
        ("value(fom=telemetry.network_packet_size, network=host) < 1.5 KB", Outcome.PASS),
        ("value(telemetry.tcp_retransmits) > 100 packets", Outcome.FAIL),
        ("value(telemetry.tcp_retransmits, network=host) > 100 packets", Outcome.PASS),
        ("value(telemetry.network_rate) < 0.5 Gbit/s", Outcome.PASS),
        ("value(telemetry.interrupts, network=overlay) > 5 /ms", Outcome.FAIL),
        ("value(telemetry.interrupts, network=overlay) > 5000 1/s", Outcome.FAIL),
    ],
)
def test_figures_of_telemetry_are_judged_like_any_other(text: str, expected: Outcome) -> None:
    assert checked(text).outcome is expected


def test_a_rule_that_names_no_figure_does_not_speak_of_telemetry() -> None:
    judged = checked("overhead() > 5 %").verdicts[0].judged
    assert {one.match.fom for one in judged} == {"latency", "bandwidth"}


def test_a_rule_on_telemetry_beside_another_adds_nothing_to_the_other() -> None:
    judged = checked("overhead() > 5 % or value(telemetry.cpu_system) > 50 %").verdicts[0].judged
    assert [one.match.fom for one in judged].count("telemetry.cpu_system") == 2
    assert {one.match.fom for one in judged} == {"latency", "bandwidth", "telemetry.cpu_system"}


def test_a_case_that_was_not_watched_is_no_silent_pass() -> None:
    campaign = watched(blind="overlay")
    alone = checked("value(telemetry.cpu_system) > 50 %", campaign)
    assert alone.outcome is Outcome.UNDECIDED
    assert [one.why for one in alone.verdicts[0].judged] == [
        "the whole interval is within the limit",
        "not measured",
    ]
    pair = checked("ratio(telemetry.cpu_system, network=overlay) > 1.4", campaign)
    assert [one.why for one in pair.verdicts[0].judged] == [
        "not measured on both sides: overlay has none, since no run has it"
    ]


def test_a_campaign_without_it_notes_it() -> None:
    with pytest.raises(UsageError, match=r"no run has telemetry\.cpu_system: its nodes were not watched"):
        checked("value(telemetry.cpu_system) > 50 %", make_campaign(blocks=6))


def test_a_misspelt_figure_is_none() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'telemetry\.cpu_system'"):
        checked("value(telemetry.cpu_sytem) > 50 %")
