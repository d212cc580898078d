"""What all outputs say of random campaigns of every kind: no more is false than promised, and all agree.

``make truth`` does it for 2,000 of them, and prints the table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truth import page
from truth.__main__ import measured, report
from truth.campaigns import write_campaign
from truth.counting import INTERVALS, PROMISED, Rate, rate_of
from truth.grammar import Grammar, UnknownSentenceError
from truth.templates import SENTENCES, is_known, sentences
from truth.test_agreement import agree
from truth.wild import wild

N_STUDIES = 36


@pytest.mark.slow
def test_no_output_claims_more_that_is_false_than_promised_and_every_sentence_is_known() -> None:
    table = measured(N_STUDIES, first=10_000, every=N_STUDIES * 10_000)
    assert table.n_sentences > 50 * N_STUDIES
    assert not table.unknown, report(table)
    assert not table.wrong, report(table)
    assert not table.too_much, report(table)
    assert len([family for special, family in table.counts if not special]) > 20, (
        "claims of every kind are made"
    )
    for (special, family), count in table.counts.items():
        if not special and rate_of(family) is not Rate.INTERVALS:
            assert count.rate(rate_of(family)) <= 0.3 or count.studies < 10, f"{family}: {report(table)}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_all_outputs_of_a_random_campaign_say_the_same(seed: int, tmp_path: Path) -> None:
    study = wild(np.random.default_rng(seed))
    agree(write_campaign(study.measured(seed), tmp_path / "c"))


GRAMMAR = Grammar(["wrf.x"], ["step time", "wall time"], "host")


@pytest.mark.parametrize(
    "text",
    [
        "is worse than host in wrf.x’s step time (3.1 % slower [1.2, 5.0]) at 4 nodes.",
        "is worse than host in wrf.x’s step time (3.1 % longer [1.2, 5.0]) at 4 nodes, as everybody knows.",
        "is nearly equivalent to host, within ± 2 %, in wrf.x’s step time (+0.1 % [−1, 1]) at 4 nodes.",
        "is superb.",
    ],
)
def test_an_answer_of_a_kind_that_is_not_known_is_found(text: str) -> None:
    with pytest.raises(UnknownSentenceError):
        GRAMMAR.clauses(text)


def test_an_answer_is_read_clause_by_clause() -> None:
    text = (
        "is worse than host in wrf.x’s step time (3.1 % longer [1.2, 5.0]) at 2 and 4 nodes (io heavy; io "
        "none), and in wrf.x’s wall time (multiplied by 20.0 [19.1, 21.0] on average, 18.0 × to 22.0 ×) at 2 "
        "nodes; is undecided in wrf.x’s wall time (+1 % in 2 blocks, no interval) at 4 nodes."
    )
    first, second, third = GRAMMAR.clauses(text)
    assert (first.kind, first.where) == ("step time", ((2, "io heavy; io none"), (4, "io heavy; io none")))
    assert (first.change, first.low, first.high) == pytest.approx((1.031, 1.0115, 1.0505), abs=1e-6)
    assert (first.says.value, first.is_more) == ("worse", True)
    assert (second.kind, second.where, second.change) == ("wall time", ((2, ""),), 20.0)
    assert (third.says.value, third.change) == ("undecided", None)


@pytest.mark.parametrize("place", SENTENCES)
def test_a_sentence_of_a_kind_that_is_not_known_is_found(place: str) -> None:
    assert not is_known(place, "All of it is 12 % better than promised.")


def test_sentences_end_where_they_end() -> None:
    text = "About 12 blocks would do. × 3.40 as fast, wrf.x’s too. 2 more."
    assert list(sentences(text)) == ["About 12 blocks would do.", "× 3.40 as fast, wrf.x’s too.", "2 more."]


def test_the_page_promises_no_more_than_was_measured() -> None:
    found = page.written()
    assert len(found) > 25
    for family, (rate, of) in found.items():
        assert rate_of(family) == of
        assert rate <= (100 * INTERVALS if rate_of(family) is Rate.INTERVALS else 100 * PROMISED), family
