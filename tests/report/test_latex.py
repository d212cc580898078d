"""The tables for papers: what they hold, and that TeX can read them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.studies import answers_of, hostile, three_networks
from support.planned import ELAPSED, about, make_planned
from support.synthetic import make_campaign
from tare.core.campaign import Campaign
from tare.report.content import content
from tare.report.escaping import latex
from tare.report.formats.latex import render_latex

_TOKEN = re.compile(r"\\[A-Za-z]+|\\[\\{}$&#%_,]|[{}&~]|[^\\{}&~$#%_^\"<>|`\n]|\n|``|`")
DOCUMENT = "\\documentclass{article}\n\\usepackage{booktabs}%s\n\\begin{document}\n%s\n\\end{document}\n"


def tables(campaign: Campaign) -> str:
    return render_latex(content(campaign, answers_of(campaign)))


def tokens(text: str) -> list[str]:
    """Return `text` as TeX reads it; fails on a character that means something and is not escaped."""
    text = re.sub(r"(?m)^%.*\n", "", text).replace("\\num}[1]{\\ensuremath{#1}}", "\\num}{}")
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match, f"TeX would trip over {text[at : at + 30]!r}"
        found.append(match.group())
        at = match.end()
    return found


def assert_balanced(text: str) -> None:
    depth = 0
    for token in tokens(text):
        depth += (token == "{") - (token == "}")
        assert depth >= 0
    assert depth == 0
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []


def assert_rectangular(text: str) -> None:
    """Check that each row of each table has as many cells as there are columns."""
    for columns, body in re.findall(
        r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", text, re.DOTALL
    ):
        n_columns = len(re.findall("[lrp]", re.sub(r"p\{[^}]*\}+", "p", columns)))
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows
        assert {tokens(row).count("&") for row in rows} == {n_columns - 1}


def test_the_table_holds_each_change_with_its_sign_and_interval() -> None:
    text = tables(three_networks(blocks=12))
    assert re.search(r"\\ensuremath\{\\uparrow\}~\\num\{\+50\} \{\[\}\\num\{\d+\},~\\num\{\d+\}\{\]\}", text)
    assert re.search(r"\\ensuremath\{\\approx\}~\\num\{[-+]?0\.\d\}", text)
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 2
    assert_balanced(text)
    assert_rectangular(text)


def test_a_change_beyond_tenfold_is_a_ratio() -> None:
    text = tables(make_campaign(ratio=160.0, noise=0.002))
    assert re.search(r"\\num\{1\d\d\.?\d*\}\\,\\ensuremath\{\\times\} \{\[\}\\num\{1\d\d", text)
    assert "beyond tenfold" in text
    assert_balanced(text)
    assert "tenfold" not in tables(make_campaign(ratio=1.5))


def test_hostile_names_stay_in_their_cells(tmp_path: Path) -> None:
    text = tables(hostile(tmp_path))
    assert "alert(1)" in text
    assert_balanced(text)
    assert_rectangular(text)


@given(st.text(max_size=40))
def test_any_text_is_only_text_to_tex(text: str) -> None:
    escaped = latex(text)
    assert_balanced(escaped)
    assert "&" not in tokens(escaped)
    assert "\n" not in escaped
    assert all(character.isascii() or "\u00c0" <= character <= "\u017f" for character in escaped)


@given(st.text("abcXYZ019 .,:;!?()/+=@'-", max_size=40))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert latex(text).replace("{}", "") == text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed")
@pytest.mark.parametrize("siunitx", ["", "\n\\usepackage{siunitx}"])
def test_a_document_that_takes_the_tables_in_compiles(siunitx: str, tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(DOCUMENT % (siunitx, tables(hostile(tmp_path / "campaign"))))
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_caption_names_the_mark_that_its_table_has() -> None:
    found = make_planned({"host": {ELAPSED: about(5.0)}, "overlay": {ELAPSED: about(7.0)}})
    text = tables(found)
    assert "bold marks the best mean of a row" in text
    assert "U+2605" not in text
    assert r"\textbf{" in text
