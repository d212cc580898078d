"""The pages of the articles: every claim, study and figure is there, and every link leads somewhere."""

from __future__ import annotations

import re

import msgspec
import pytest
from click.testing import CliRunner

from bench.articles import __main__ as command
from bench.articles.article import FOLDER, Follows, Part
from bench.articles.judging import judge
from bench.articles.pages import FILE, index, page
from bench.articles.results import Results, read_results
from published.measured_articles import ARTICLES, PARTS, campaigns, plan_of, same
from tare.core.case import Case
from tare.core.values import Scalar
from tare.published import judge_claims, read_claims


def test_every_claim_has_a_part_and_no_claim_is_in_two_articles() -> None:
    of_article = {key: {part.claim for part in article.parts} for key, article in ARTICLES.items()}
    assert sorted(claim for claims in of_article.values() for claim in claims) == sorted(
        one.id for one in read_claims()
    )
    assert len({part.id for _, part in PARTS}) == len(PARTS)
    assert all(part.id.startswith(part.claim) for _, part in PARTS)


def test_a_part_without_a_published_text_has_published_figures() -> None:
    judged = {one.claim.id for one in judge_claims() if one.evidence}
    assert {part.id for _, part in PARTS if not part.published and part.claim not in judged} == set()


def test_every_study_and_site_of_an_article_is_there_and_no_table_is_left_out() -> None:
    for article in ARTICLES.values():
        for study in article.studies:
            assert plan_of(article, study).study == study.name
        for full in article.full:
            assert (article.folder / full.file).is_file()
            assert (article.folder / full.site).is_file()
    tables = {claim.data for claim in read_claims() if claim.data}
    assert {table for article in ARTICLES.values() for table in article.tables} == tables


def test_every_study_on_this_machine_tries_a_part() -> None:
    for article in ARTICLES.values():
        assert {study.name for study in article.studies} == {part.study for part in article.parts} - {""}


def test_every_link_of_the_pages_leads_somewhere() -> None:
    for path in FOLDER.glob(f"**/{FILE}"):
        for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path} links to {target}"


def test_the_pages_are_current() -> None:
    for key, article in ARTICLES.items():
        text = (FOLDER / key / FILE).read_text(encoding="utf-8")
        assert text == page(article, read_results(key)), "run: python -m bench.articles --pages"
    articles = [(article, read_results(key)) for key, article in ARTICLES.items()]
    assert (FOLDER / FILE).read_text(encoding="utf-8") == index(articles)


def test_a_part_has_exactly_one_test_and_a_question() -> None:
    part = Part(id="x", claim="1", states="it is so", cannot="no")
    change = msgspec.structs.replace
    follows = Follows(fom="a", cause="b", over="network")
    with pytest.raises(ValueError, match="give one of"):
        change(part, cannot="")
    with pytest.raises(ValueError, match="give one of"):
        change(part, pass_if="overhead() < 5 %", study="demo", asked="is it so")
    with pytest.raises(ValueError, match="has a study and a question"):
        change(part, cannot="", follows=follows)
    with pytest.raises(ValueError, match="only a rule"):
        change(part, cannot="", follows=follows, study="demo", asked="is it so", reference={"nodes": 1})


def test_the_list_has_every_study_once_and_an_unknown_article_gets_a_suggestion() -> None:
    shown = CliRunner().invoke(command.main, ["--list"], catch_exceptions=False).stdout
    names = [line.split()[2] for line in shown.splitlines()]
    assert names.count("openfoam-fabrics") == 1
    assert "openshift-networks  in pods" in shown
    wrong = CliRunner().invoke(command.main, ["stackhcp"])
    assert wrong.exit_code == 2
    assert "did you mean 'stackhpc'" in wrong.stderr


def test_each_of_the_32_numbers_of_hpcc_stands_beside_one_measured_here() -> None:
    """The truth of a rate is the link's share of the fastest; StarFFT has one that no link changes."""
    share = {"tcp-8g": 1.0, "tcp-2g": 0.25, "tcp-800m": 0.1}

    def truth(case: Case, fom: str, _at: Scalar) -> float:
        return 1.0 if fom == "StarFFT_Gflops" else share.get(case.network or "", 1.0)

    article = ARTICLES["stackhpc"]
    rates = campaigns(article, truth)["hpcc-rates"]
    results = judge(article, {"hpcc-rates": rates})
    lines = [line.split(" | ") for line in page(article, results).splitlines() if "| tcp-" in line]
    rows = {(line[0].strip("| "), line[2]): line for line in lines if len(line) == 9}
    assert len(rows) == 32
    assert rows["HPL_Tflops", "tcp-25g"][3:6] == ["4.186", "0.764", "tcp-2g"]
    for fom, ratio in (("HPL_Tflops", 0.25), ("StarFFT_Gflops", 1.0)):
        assert float(rows[fom, "roce-25g"][7].split()[0]) == pytest.approx(ratio, rel=0.01)
        assert rows[fom, "ib-100g"][7] == "1"
    unmeasured = page(article, Results())
    assert "| tcp-25g | 4.186 | 0.764 | tcp-2g | – | – | – |" in unmeasured


def test_numbers_that_stood_beside_others_are_not_shown() -> None:
    article = ARTICLES["stackhpc"]
    results = judge(article, {"hpcc-rates": campaigns(article, same)["hpcc-rates"]})
    (match,) = article.matches
    assert len(results.figures_of(match)) == 32
    assert results.figures_of(msgspec.structs.replace(match, reference="tcp-10g")) == ()
