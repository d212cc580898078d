"""One campaign, one number: page, Markdown, LaTeX, PDF, CSV and JSON have the same values and changes."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from statistics import geometric_mean

import pytest

from cli.conftest import call_tare_here
from report.studies import answers_of, content_of, part_of
from support.scales import make_application, usl
from support.synthetic import make_campaign
from tare.report.sections.overview import Overview
from tare.report.sections.verdicts import Verdicts
from tare.report.words.numbers import NARROW
from tare.report.writing import NAMES, Format, write_report

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
CHARTS = ("rate.csv", "time.csv")
Rows = list[list[list[str]]]
"""The numbers of each cell of each row."""


STUDY = """\
study: sums
question: What does it cost to sum integers one by one?
site: site.yaml
platform: bare
reference: {way: together}
workloads:
  sums:
    command:
      - python3
      - -c
      - |
        import sys, time
        began = time.monotonic()
        for _ in range(40):
            sum(range(20000)) if sys.argv[1] == "together" else [one + 1 for one in range(20000)]
        print("elapsed:", 1000 * (time.monotonic() - began), "ms")
      - "{way}"
    parameters: {way: {kind: text, default: together}}
    foms: [{name: elapsed, unit: ms, better: lower, regex: 'elapsed: (\\S+) ms'}]
factors:
  workload: [sums]
  way: [together, apart]
  threads: [1, 2, 4]
nodes: 1
repeats: 3
margin: 5 %
timeout: 1 min
"""
SITE = "site: local\nnodes: [localhost]\nplatforms: {bare: {launcher: none}}\n"
DOCUMENT = r"""\pdfcompresslevel=0 \pdfobjcompresslevel=0
\documentclass{article}
\usepackage[landscape,margin=5mm]{geometry}
\usepackage{booktabs,siunitx}
\begin{document}\tiny
\input{tables}
\end{document}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report in all formats, on an application that is 20 % slower over the overlay."""
    folder = tmp_path_factory.mktemp("formats")
    campaign = make_application({"host": usl(600), "overlay": usl(480)}, (1, 2, 4), noise=0.002)
    write_report(campaign, answers_of(campaign), folder, formats=list(Format))
    return folder


@pytest.fixture(scope="module")
def measured_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign that was really run, on this machine, and has its report in all formats."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "site.yaml").write_text(SITE)
    (folder / "study.yaml").write_text(STUDY)
    done = call_tare_here("run", folder / "study.yaml", "--out", folder / "c", "--no-boost")
    assert done.returncode == 0, done.stdout + done.stderr
    done = call_tare_here("report", folder / "c", "--format", "all", "--output", folder / "c" / "report")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "c"


@pytest.fixture(params=["made", "measured"])
def report(request: pytest.FixtureRequest) -> Path:
    """Return the folder of a report in all formats."""
    if request.param == "made":
        return Path(request.getfixturevalue("made"))
    return Path(request.getfixturevalue("measured_campaign")) / "report"


def numbers(cell: str) -> list[str]:
    """Return the numbers of a cell as they are shown, without the space of each form between thousands."""
    text = re.sub(r"\\num\{([^}]*)\}", r"\1", html.unescape(cell))
    return _NUMBER.findall(re.sub(rf"(?<=\d)(?:{NARROW}|\N{{NO-BREAK SPACE}}|\\,)(?=\d{{3}})", "", text))


def pdf_text(content: bytes) -> str:
    """Return the letters of a PDF whose streams are not compressed, in order and without spaces."""
    strings = re.findall(
        rb"\(((?:[^()\\]|\\.)*)\)", b"".join(re.findall(rb"\[(.*?)\]TJ", content, re.DOTALL))
    )
    return re.sub(r"\s", "", b"".join(strings).decode("latin-1"))


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


def last_digit(text: str) -> float:
    """Return the value of the last digit of a number that is not 0; zeros at the end of 1200 are none."""
    if "." in text:
        return 10.0 ** -len(text.partition(".")[2])
    return 10.0 ** (len(text) - len(text.rstrip("0"))) if text.rstrip("0") else 1.0


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
            assert abs(float(text) - float(value)) <= 0.500001 * last_digit(text), (texts, values)


def test_no_value_is_rounded_out_of_its_interval(report: Path) -> None:
    for row in page_rows(report):
        for value, low, high in (map(float, cell) for cell in row if len(cell) == 3):
            assert low <= value <= high


def test_a_chart_has_the_values_of_the_csv_exactly(report: Path) -> None:
    (chart,) = (report / "charts" / name for name in CHARTS if (report / "charts" / name).exists())
    with chart.open(encoding="utf-8") as file:
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
    found = [[numbers(cell.partition("(+")[0]) for cell in row.split("|")[1:-1]] for row in rows]
    assert found == [[numbers(cell) for cell in row.split(" & ")] for row in on_paper]
    assert all(len(cell) == 3 for row in found for cell in row[2:])


def test_json_has_the_values_of_the_csv_exactly(measured_campaign: Path) -> None:
    report = measured_campaign / "report"
    done = call_tare_here("compare", measured_campaign, "--json")
    found = {
        (one["contender"]["way"], one["at"]["threads"]): (one["reference_level"], one["contender_level"])
        for one in json.loads(done.stdout)["comparisons"]
        if one["fom"] == "elapsed" and "threads" in one["at"]
    }
    levels = {
        (row["side"], row["step"][0]): {end: float(row[end]) for end in ("value", "low", "high")}
        for row in measured(report)
    }
    assert found == {("apart", n): (levels["together", str(n)], levels["apart", str(n)]) for n in (1, 2, 4)}


def test_the_mean_of_the_exported_runs_is_the_value_of_the_csv(measured_campaign: Path) -> None:
    rows = json.loads(call_tare_here("export", measured_campaign, "--format", "json").stdout)["rows"]
    for row in measured(measured_campaign / "report"):
        values = [
            one["value"]
            for one in rows
            if one["fom"] == "elapsed" and (one["way"], one["threads"]) == (row["side"], int(row["step"][0]))
        ]
        assert len(values) == int(row["blocks"]) == 3
        assert geometric_mean(values) == pytest.approx(float(row["value"]), rel=1e-12)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed: apt install texlive")
def test_the_pdf_shows_what_the_tables_of_the_paper_say(report: Path, tmp_path: Path) -> None:
    shutil.copy(report / NAMES[Format.LATEX], tmp_path / "tables.tex")
    (tmp_path / "paper.tex").write_text(DOCUMENT)
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    shown = pdf_text((tmp_path / "paper.pdf").read_bytes())
    for row in latex_rows((report / NAMES[Format.LATEX]).read_text(encoding="utf-8")):
        for cell in row:
            if len(cell) == 3:
                value, low, high = cell
                assert f"{value}[{low},{high}]" in shown


@pytest.mark.parametrize("slower", [1.0, 1.5], ids=["equivalent", "worse"])
def test_a_cell_of_the_heat_map_has_the_p_value_of_the_table_of_verdicts(slower: float) -> None:
    found = content_of(make_campaign(ratio=slower, noise=0.002, sizes=(65536,)))
    shown = [
        dict(cell.details)["p"]
        for table in part_of(found, Overview).maps
        for row in table.rows
        for cell in row.cells
        if cell
    ]
    rows = part_of(found, Verdicts).rows
    (at,) = (place for place, column in enumerate(rows.columns) if column.title == "p")
    of = "as large a difference as the margin" if slower == 1 else "no difference"
    assert shown == [f"{row.cells[at].text} of {of}, corrected among 2" for row in rows.rows]
