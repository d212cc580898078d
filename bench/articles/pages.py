"""Write the page of an article: what was published, what was measured here, and the verdict of each claim."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.articles.article import FOLDER, Article, LocalStudy, Part
from bench.articles.markdown import markdown_table
from bench.articles.matches import HEAD, rows
from bench.articles.results import Evidence, PartResult, Results, Verdict
from tare.published import Publication, judge_claims, read_publication
from tare.published.claims import ClaimFinding
from tare.published.claims import Evidence as PublishedEvidence
from tare.published.tables import DATA

FILE = "README.md"
_MADE = "<!-- Made by 'make articles' from article.toml and results.json. Edit those, not this page. -->"
_INLINE = 3
"""As many numbers stand in the table of claims itself; more stand below it."""

_WHAT = """\
`make articles` runs the studies whose programs are there, judges each claim by their campaigns, and writes
these pages. Each page shows what was published, what was measured here, and the verdict. Their charts and
tables have [a page of their own](charts.md).
"""
_MADE_OF = {"efficiency": "efficiency by ", "ratio": "ratio of ", "cv_ratio": "ratio of the scatter of "}
"""What a function of a rule makes of a figure."""
_DECIDED = """\
The verdict is about the sentence in the column *asked here*, on this machine, and about nothing else. A study
that is scaled down, or runs another program, does not show the size of an effect on the article's system.

- **holds here**: every interval that the test selects lies wholly within the limit.
- **does not hold here**: at least one interval lies wholly beyond the limit, corrected for all comparisons of
  the same campaign and reference (Holm).
  An order of figures, or a ratio that rises, is judged by itself.
- **undecided**: neither. The limit lies within an interval, or there are too few runs for one.
- **cannot be tried here**: no study on this machine can answer it, for the reason given.
- **not measured yet**: there is a study, and no campaign of it was judged with this test.

Intervals are at 95 %. An overhead is written as the change of the figure against its reference. The tests are
rules of [`tare check`]({check}), and orders as `tare published --claims` judges them.
"""


def page(article: Article, results: Results) -> str:
    """Return the page of an article in Markdown."""
    here = {part.id: results.of(part) for part in article.parts}
    published = {one.claim.id: one for one in judge_claims()}
    sections = [
        f"{_MADE}\n# {article.title}\n\n{article.publisher}. The article's system: {article.system}.\n",
        f"{_counts(here.values())}\n",
        "## Claims\n",
        _claims(article, here, published),
        "## Figures measured here\n",
        *(_figures(part, here[part.id]) for part in article.parts if here[part.id].evidence),
        *(
            []
            if any(one.evidence for one in here.values())
            else ["There are none yet: run `make articles`.\n"]
        ),
        *_published(article, results),
        "## Studies on this machine\n",
        _local_studies(article, results),
        "## The study as published\n",
        _full_studies(article),
        "## How a verdict is reached\n",
        _DECIDED.format(check=_relative(FOLDER.parents[1] / "docs" / "check.md", article.folder)),
    ]
    return "\n".join(sections)


def index(articles: Sequence[tuple[Article, Results]]) -> str:
    """Return the page that lists all articles, with the number of verdicts of each kind."""
    rows = []
    for article, results in articles:
        counts = Counter(results.of(part).verdict for part in article.parts)
        minutes = sum(study.minutes for study in article.studies)
        rows.append(
            [
                f"[{article.title}]({article.key}/{FILE})",
                article.publisher,
                *(str(counts[verdict]) for verdict in Verdict),
                f"{minutes:g}",
            ]
        )
    minutes = sum({study.name: study.minutes for one, _ in articles for study in one.studies}.values())
    return "\n".join(
        [
            f"{_MADE}\n# The published articles, tried on this machine\n",
            _WHAT,
            markdown_table(["article", "publisher", *Verdict, "minutes"], rows),
            f"All studies take about {minutes:g} minutes on two idle cores. Some belong to two articles.\n",
        ]
    )


def _counts(found: Iterable[PartResult]) -> str:
    counts = Counter(one.verdict for one in found)
    parts = [f"{verdict}: {counts[verdict]}" for verdict in Verdict if counts[verdict]]
    return f"{counts.total()} statements. {'; '.join(parts).capitalize()}."


def _claims(article: Article, here: dict[str, PartResult], published: dict[str, ClaimFinding]) -> str:
    rows = []
    for part in article.parts:
        result = here[part.id]
        asked = f"{part.asked} ([{part.study}](#studies-on-this-machine))" if part.asked else "–"
        rows.append(
            [
                f"**{part.id}** {part.states}",
                part.published or "<br>".join(_published_numbers(published[part.claim])),
                asked,
                _here(part, result),
                _verdict(result),
            ]
        )
    return markdown_table(["claim", "published", "asked here", "here", "verdict"], rows)


def _published_numbers(finding: ClaimFinding) -> Iterator[str]:
    """Yield the numbers of the published table, and what they support by themselves."""
    for one in finding.evidence:
        yield f"{one.what}: {_published_number(one)}"
    yield f"by these figures alone: {finding.verdict}"


def _published_number(one: PublishedEvidence) -> str:
    if one.tau is not None:
        return f"τ = {one.tau:+.2f}".replace("-", "−")
    if one.ratio is None:
        return "–"
    return f"{one.ratio:.3f}" if one.low is None else f"{one.ratio:.3f} [{one.low:.3f}, {one.high:.3f}]"


def _here(part: Part, result: PartResult) -> str:
    if not result.evidence:
        return "–"
    if len(result.evidence) <= _INLINE:
        return "<br>".join(f"{_compared(part, one)}: {one.measured}" for one in result.evidence)
    return f"[{len(result.evidence)} figures](#{_anchor(part)})"


def _compared(part: Part, one: Evidence) -> str:
    what = _what(part, one)
    return f"{what}, against {one.against}" if one.against else what


def _what(part: Part, one: Evidence) -> str:
    """Return what was measured; where it is not the figure itself or its change, with what is made of it."""
    return f"{_MADE_OF.get(part.pass_if.partition('(')[0], '')}{one.what}"


def _verdict(result: PartResult) -> str:
    text = f"{result.verdict.sign} **{result.verdict}**"
    if result.verdict is Verdict.CANNOT:
        return f"{text} because {result.why}"
    return f"{text}: {result.why}" if result.why else text


def _figures(part: Part, result: PartResult) -> str:
    rows = [
        [
            _what(part, one),
            one.against or "–",
            one.measured,
            str(one.n),
            "–" if one.verdict is None else f"{one.verdict.sign} {one.verdict}",
            one.why or "–",
        ]
        for one in result.evidence
    ]
    decided = f"{part.asked}: {result.verdict.sign} **{result.verdict}**. Test: `{part.test}`"
    return f"### {_heading(part)}\n\n{decided}\n\n" + markdown_table(
        ["figure", "against", "measured [95 %]", "n", "alone", "why"], rows
    )


def _heading(part: Part) -> str:
    return f"Claim {part.id}"


def _anchor(part: Part) -> str:
    return _heading(part).lower().replace(" ", "-").replace(".", "")


def _published(article: Article, results: Results) -> Iterator[str]:
    if not article.tables:
        yield "## Published figures\n"
        yield "The data set has no table of this article; the column *published* has what its text reports.\n"
        return
    yield "## Published figures\n"
    for name in article.tables:
        table = read_publication(name)
        link = _relative(DATA / f"{name}.csv", article.folder)
        yield f"{table.what}. Source: {table.source}. [CSV]({link}); `tare published {name}`\n"
        yield _published_table(table)
        for one in article.matches:
            if one.table == name:
                yield f"### {name}, number by number\n"
                yield f"Each number beside one of the study {one.study}. {one.because}\n"
                yield f"A ratio is to {one.reference}, and here to what stands for it.\n"
                yield markdown_table(HEAD, rows(one, table, results))


def _published_table(table: Publication) -> str:
    """Return one row for each figure and its other settings, and one column for each series."""
    cells: dict[tuple[str, str], dict[str, list[str]]] = {}
    names = dict.fromkeys(name for one in table.figures for name in one.settings)
    varied = [name for name in names if len({one.settings.get(name) for one in table.figures}) > 1]
    for one in table.figures:
        inside = one.series.split("+")
        others = [
            f"{name}={one.settings[name]}"
            for name in varied
            if str(one.settings.get(name, inside[0])) not in inside
        ]
        others += [f"{name}={value}" for name, value in one.kind.at.items()]
        row = cells.setdefault((f"{one.kind.fom} {' '.join(others)}".strip(), one.kind.unit), {})
        row.setdefault(one.series, []).append(f"{one.value:.10g}")
    rows = [
        [what, unit, *(", ".join(row.get(series, ["–"])) for series in table.series)]
        for (what, unit), row in cells.items()
    ]
    return markdown_table(["figure", "unit", *table.series], rows)


def _local_studies(article: Article, results: Results) -> str:
    measured = {one.study: one for one in results.campaigns}
    rows = []
    for study in article.studies:
        link = _relative(article.path_of(study), article.folder)
        one = measured.get(study.name)
        ran = (
            f"{one.date}: {one.n_done} of {one.n_planned} runs; {one.machine}; Tare {one.tare}"
            if one
            else "–"
        )
        rows.append([f"[{study.name}]({link})", study.scale, f"{study.minutes:g}", _needs(study), ran])
    if not rows:
        return "There is none.\n"
    return markdown_table(["study", "scale", "minutes", "needs", "measured"], rows)


def _needs(study: LocalStudy) -> str:
    pods = ["root, `make programs kubelab`"] if study.in_pods else []
    pods += ["root, `tare lab up --with cluster`"] if study.in_cluster else []
    suites = [f"a root file system of Debian {suite}" for suite in study.suites]
    return ", ".join([*study.needs, *suites, *pods]) or "–"


def _full_studies(article: Article) -> str:
    rows = [
        [f"[{Path(one.file).stem}]({one.file})", f"[{Path(one.site).stem}]({one.site})"]
        for one in article.full
    ]
    return markdown_table(["study", "site"], rows)


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
