"""The answer in words, for every verdict; it never says more than the verdict does."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from report.studies import answers_of, three_networks, words_of
from support.synthetic import make_campaign
from tare.model.comparison import Comparison, Verdict
from tare.model.workload import Better
from tare.report.sections.settling import settles


def sentence(ratio: Mapping[str, float] | float, *, noise: float = 0.003, blocks: int = 6) -> str:
    (answer,) = words_of(make_campaign(ratio=ratio, noise=noise, blocks=blocks))
    return plain(f"{answer.sentence} {answer.beside}")


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


def test_a_worse_contender_adds_to_latency_and_takes_off_bandwidth() -> None:
    assert re.match(
        r"overlay adds 50 % \[\d+, \d+\] to small-message latency "
        r"and takes 33 % \[\d+, \d+\] off bandwidth\.",
        sentence(1.5),
    )


def test_a_better_contender_takes_off_latency_and_adds_to_bandwidth() -> None:
    assert re.match(
        r"overlay takes 20\.0 % \[19\.\d, 20\.\d\] off small-message latency "  # [20, 20] would say too much
        r"and adds 25 % \[\d+, \d+\] to bandwidth\.",
        sentence(0.8),
    )


def test_beyond_tenfold_a_contender_multiplies_and_divides() -> None:
    assert re.match(
        r"overlay multiplies small-message latency by 16\d \[15\d, 16\d\] and divides bandwidth by 16\d \[",
        sentence(160.0),
    )
    assert re.match(
        r"overlay divides small-message latency by 16\d \[15\d, 16\d\] and multiplies bandwidth by 16\d \[",
        sentence(1 / 160),
    )


def test_an_equivalent_contender_is_so_within_the_margin_and_with_its_interval() -> None:
    said = sentence(1.0, blocks=12)
    assert re.match(
        r"overlay is equivalent to host, within ± 2 %, in small-message latency \([+−]?0\.\d % \[", said
    )
    assert "adds" not in said
    assert "undecided" not in said


def test_an_undecided_contender_is_said_to_be_so_with_what_would_settle_it() -> None:
    said = sentence(1.0, noise=0.05, blocks=5)
    assert re.match(r"overlay is undecided in small-message latency \([+−][\d.]+ % \[−", said)
    assert "equivalent" not in said
    assert re.search(
        r"About \d+ blocks instead of 5 would settle the undecided one|any sensible number", said
    )


def test_too_few_blocks_give_no_interval_and_no_verdict() -> None:
    said = sentence(3.0, blocks=2)
    assert "in 2 blocks, no interval" in said
    assert "1 comparison lacks three blocks that both sides finished." in said
    assert "worse" not in said
    assert "adds" not in said


def test_each_contender_has_a_sentence_of_its_own_and_the_farthest_place_is_named() -> None:
    overlay, macvlan = (plain(answer.sentence) for answer in words_of(three_networks(blocks=12)))
    assert overlay.startswith("overlay adds 50 %")
    assert "Of 2 workloads and scales, all are worse; farthest is synthetic.pingpong · " in overlay
    assert re.search(r"nodes, worse by 50 % \[\d+, \d+\]\.$", overlay)
    assert macvlan.startswith("macvlan is equivalent to host, within ± 2 %")
    assert macvlan.endswith("all are equivalent.")


@settings(max_examples=25)
@given(ratio=st.floats(0.9, 1.1), noise=st.floats(0.001, 0.05), blocks=st.integers(1, 8))
def test_a_sentence_says_equivalent_only_where_a_verdict_does(
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
    found = settles([undecided(3), undecided(15), undecided(500), undecided(None)])
    assert found.startswith("1 comparison lacks three blocks that both sides finished.")
    assert "About 20 blocks instead of 5 would settle 2 of the 3 undecided" in found
    assert "would settle all 2 undecided" in settles([undecided(3), undecided(15)])
    assert "1 more would take over 100" in found
