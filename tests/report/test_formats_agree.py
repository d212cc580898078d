"""One campaign, one number: page, Markdown, LaTeX and CSV show the same values and the same changes."""

from __future__ import annotations

import csv
import html
import re
from pathlib import Path

import pytest

from report.studies import answers_of
from support.scales import make_application, usl
from tare.report.writing import NAMES, Format, write_report

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
Rows = list[list[list[str]]]
"""The numbers of each cell of each row."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report in all formats, on an application that is 20 % slower over the overlay."""
    folder = tmp_path_factory.mktemp("formats")
    campaign = make_application({"host": usl(6), "overlay": usl(4.8)}, (1, 2, 4), noise=0.002)
    write_report(campaign, answers_of(campaign), folder, formats=list(Format))
    return folder


def numbers(cell: str) -> list[str]:
    """Return the numbers of a cell as they are shown."""
    text = re.sub(r"\\num\{([^}]*)\}", r"\1", html.unescape(cell))
    return _NUMBER.findall(text)


def page_rows(report: Path) -> Rows:
    text = (report / NAMES[Format.HTML]).read_text(encoding="utf-8")
    section = text.partition('<section id="values"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", section.partition("<tbody>")[2], re.DOTALL)
    return [
        [numbers(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]
        for row in rows
    ]


def markdown_rows(report: Path) -> Rows:
    text = (report / NAMES[Format.MARKDOWN]).read_text(encoding="utf-8")
    section = text.partition("### What did each one measure?")[2].partition("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[numbers(cell) for cell in row.strip("|").split("|")] for row in rows]


def latex_rows(text: str) -> Rows:
    body = text.partition("-values-1}")[2].partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    rows = [line.strip() for line in body.splitlines() if line.strip().endswith(r"\\")]
    return [[numbers(cell) for cell in row.removesuffix(r"\\").split(" & ")] for row in rows]


def measured(report: Path) -> list[dict[str, str]]:
    with (report / NAMES[Format.CSV]).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_page_markdown_and_latex_have_the_same_table(report: Path) -> None:
    shown = page_rows(report)
    assert len(shown) == 3
    assert markdown_rows(report) == shown
    assert latex_rows((report / NAMES[Format.LATEX]).read_text(encoding="utf-8")) == shown


def test_what_they_show_are_the_values_of_the_csv_rounded(report: Path) -> None:
    exact = [[row["value"], row["low"], row["high"]] for row in measured(report)]
    shown = [cell for row in page_rows(report) for cell in row if len(cell) == 3]
    assert len(shown) == len(exact) == 6
    for texts, values in zip(shown, exact, strict=True):
        for text, value in zip(texts, values, strict=True):
            decimals = len(text.partition(".")[2])
            assert text == f"{float(value):.{decimals}f}", (texts, values)


def test_a_chart_has_the_values_of_the_csv_exactly(report: Path) -> None:
    with (report / "charts" / "rate.csv").open(encoding="utf-8") as file:
        drawn = {
            (row["side"], row["at"]): (row["value"], row["low"], row["high"], row["blocks"])
            for row in csv.DictReader(file)
        }
    assert drawn == {
        (row["side"], row["step"]): (row["value"], row["low"], row["high"], row["blocks"])
        for row in measured(report)
    }


def test_the_changes_on_paper_are_those_of_the_summary(report: Path) -> None:
    summary = (report / NAMES[Format.MARKDOWN]).read_text(encoding="utf-8")
    table = summary.partition("### What does each change")[2].partition("\n### ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    paper = (report / NAMES[Format.LATEX]).read_text(encoding="utf-8")
    body = paper.partition("-change}")[2].partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    on_paper = [line.strip() for line in body.splitlines() if line.strip().endswith(r"\\")]
    found = [[numbers(cell) for cell in row.split("|")[1:-1]] for row in rows]
    assert found == [[numbers(cell) for cell in row.split(" & ")] for row in on_paper]
    assert all(len(cell) == 3 for row in found for cell in row[2:])
