"""The answer in words, for every verdict; it never says more than the verdict does."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from report.studies import answers_of, page_of, three_networks, words_of
from support.synthetic import make_campaign
from tare.core.comparison import Comparison
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.report.words.settling import settles


def sentence(ratio: Mapping[str, float] | float, *, noise: float = 0.003, blocks: int = 6) -> str:
    (answer,) = words_of(make_campaign(ratio=ratio, noise=noise, blocks=blocks))
    return plain(f"{answer.sentence} {answer.beside}")


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


LATENCY = "synthetic.pingpong’s latency up to 1 KiB"
BANDWIDTH = "synthetic.pingpong’s bandwidth from 64 KiB"


def test_a_worse_contender_has_more_latency_and_less_bandwidth() -> None:
    said = sentence(1.5)
    assert re.search(rf"overlay is worse than host in {LATENCY} \(50 % higher \[\d+, \d+\]\) and ", said)
    assert re.search(rf"{BANDWIDTH} \(33 % lower \[\d+, \d+\]\) at 2 nodes\.", said)


def test_a_better_contender_has_less_latency_and_more_bandwidth() -> None:
    said = sentence(0.8)
    # [20, 20] would say too much
    assert re.search(rf"overlay is better than host in {LATENCY} \(20\.0 % lower \[19\.\d, 20\.\d\]\)", said)
    assert re.search(rf"{BANDWIDTH} \(25 % higher \[\d+, \d+\]\) at 2 nodes", said)


def test_beyond_tenfold_a_figure_is_multiplied_or_divided() -> None:
    said = sentence(160.0)
    assert re.search(rf"worse than host in {LATENCY} \(multiplied by 16\d \[15\d, 16\d\]\)", said)
    assert re.search(rf"{BANDWIDTH} \(divided by 16\d \[", said)
    said = sentence(1 / 160)
    assert re.search(rf"better than host in {LATENCY} \(divided by 16\d \[15\d, 16\d\]\)", said)
    assert re.search(rf"{BANDWIDTH} \(multiplied by 16\d \[", said)


def test_an_equivalent_contender_is_so_within_the_margin_and_with_its_interval_and_configuration() -> None:
    said = sentence(1.0, blocks=12)
    assert re.match(rf"overlay is equivalent to host, within ± 2 %, in {LATENCY} \([+−]?0\.\d % \[", said)
    assert "worse" not in said
    assert "undecided" not in said


def test_an_undecided_contender_is_stated_to_be_so_with_what_would_settle_it() -> None:
    said = sentence(1.0, noise=0.05, blocks=5)
    assert re.match(rf"overlay is undecided in {LATENCY} \([+−]\d % \[−", said)
    assert "equivalent" not in said
    assert re.search(
        r"About \d+ blocks instead of 5 would settle (the|1 of the 2|all 2) undecided|would not settle",
        said,
    )


def test_too_few_blocks_give_no_interval_and_no_verdict() -> None:
    said = sentence(3.0, blocks=2)
    assert "in 2 blocks, no interval" in said
    assert "2 comparisons lack three blocks with values of both sides." in said
    assert "worse" not in said
    assert "In brackets" not in said


def test_each_contender_has_a_sentence_of_its_own_and_every_configuration_is_named() -> None:
    overlay, macvlan = (plain(answer.sentence) for answer in words_of(three_networks(blocks=12)))
    assert re.search(
        rf"overlay is worse than host in {LATENCY} \(50 % higher \[\d+, \d+\] on average.* at 2 and 4 nodes",
        overlay,
    )
    assert macvlan.startswith("macvlan is equivalent to host, within ± 2 %")
    configurations = rf"in {LATENCY} \([^)]*\) at 2 and 4 nodes, and in {BANDWIDTH} \([^)]*\) at 2 nodes;"
    assert re.search(configurations, macvlan)
    assert re.search(rf"is undecided in {BANDWIDTH} \([^)]*\) at 4 nodes\.$", macvlan)


@settings(max_examples=25)
@given(ratio=st.floats(0.9, 1.1), noise=st.floats(0.001, 0.05), blocks=st.integers(1, 8))
def test_a_sentence_states_equivalent_only_where_a_verdict_does(
    ratio: float, noise: float, blocks: int
) -> None:
    campaign = make_campaign(ratio=ratio, noise=noise, blocks=blocks, sizes=(8, 1048576))
    answers = answers_of(campaign)
    (found,) = words_of(campaign)
    text = found.text
    verdicts = {one.verdict for one in answers.headlines} | {one.verdict for one in answers.overview}
    assert ("equivalent to" in text) == (Verdict.EQUIVALENT in {one.verdict for one in answers.headlines})
    assert ("equivalent" not in text) or Verdict.EQUIVALENT in verdicts
    assert ("undecided" in text) == (Verdict.UNDECIDED in {one.verdict for one in answers.headlines})


def undecided(more_blocks: int | None, n_blocks: int = 5) -> Comparison:
    has_interval = more_blocks is not None
    return Comparison(
        fom="latency", unit="us", better=Better.LOWER, at={}, reference={}, contender={},
        reference_case="r", contender_case="c", n_blocks=n_blocks, ratio=1.1, confidence=0.95,
        low=0.9 if has_interval else None, high=1.3 if has_interval else None,
        verdict=Verdict.UNDECIDED, more_blocks=more_blocks,
    )  # fmt: skip


def test_what_is_decided_needs_no_settling() -> None:
    assert settles([]) == ""


def test_the_blocks_that_settle_are_those_of_the_widest_that_can_be() -> None:
    found = settles([undecided(3), undecided(15), undecided(500), undecided(None, 2)])
    assert found.startswith("1 comparison lacks three blocks with values of both sides.")
    assert "About 20 blocks instead of 5 would settle 2 of the 4 undecided" in found
    assert "would settle both undecided" in settles([undecided(3), undecided(15)])
    assert "1 more would take over 100" in found


def test_the_verdicts_stand_out_and_the_page_states_the_same_text() -> None:
    campaign = three_networks(blocks=12)
    page = plain(page_of(campaign))
    for answer in words_of(campaign):
        assert answer.text == "; ".join(" ".join(filter(None, part)) for part in answer.parts)
        assert all(f"<b>{plain(lead)}</b> " in page for lead, _ in answer.parts if lead)
    assert re.search(r"nodes\. +<a class=\"evidence\"|nodes\.\s+<span class=\"settles\"", page)


def test_a_mean_beside_a_multiple_is_said_as_a_multiple_too() -> None:
    said = sentence(24.0, noise=0.5, blocks=20)
    assert re.search(
        r"\(multiplied by \d\d\.\d \[[^]]+\], in the mean of times multiplied by \d\d\.\d \[", said
    )
    assert re.search(r"\(divided by \d\d\.\d \[[^]]+\], in the harmonic mean divided by \d\d\.\d \[", said)
