"""Draw the counterparts of the articles' charts and tables, and write the page that lists them."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
import tomllib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from bench.articles.article import FOLDER, Article
from bench.articles.markdown import MADE, markdown_table
from bench.articles.results import Measured, Results
from bench.rows import TARE
from tare.analysis.accounting import Accounting, account
from tare.core.attempt import State
from tare.core.errors import UsageError
from tare.storage.campaign import is_campaign, read_campaign

FILE = "charts.toml"
PAGE = "charts.md"
DRAWN = "charts"
"""The folder of an article that holds what was drawn."""

MOST_BYTES = 60_000
"""The most bytes of a chart that is kept beside the pages."""

_VALUES = "values"
_VALUES_TITLE = "### What did each one measure?\n"

_WHAT = """\
Each chart and table of the five articles has a counterpart here: the command that draws it and, where a
study of this machine has what it needs, the result. `make articles` draws them from the campaigns, and writes
this page. A chart shows the quantities that the article shows, at the size of this machine; its values are
not comparable with the article's.
"""
_HEAD = ("in the article", "what it shows", "drawn by", "here")


class Counterpart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chart or table of an article, and what draws it here.

    `published` names it, `shows` says what it shows. `campaign` is a study, and `options` are those of `tare
    report`. If that study can run here, `figure` is the name of the chart's file, or ``values`` for the table
    of values, and `name` is that of the file that is kept. `here` says what differs on this
    machine. `cannot` is the reason why it is not drawn here.
    """

    published: str
    shows: str
    campaign: str
    options: tuple[str, ...] = ()
    figure: str = ""
    name: str = ""
    here: str = ""
    cannot: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError unless it is drawn here, or there is a reason why it is not."""
        if bool(self.cannot) == bool(self.figure and self.name):
            raise ValueError(f"chart {self.published!r}: give figure and name, or cannot")

    @property
    def command(self) -> str:
        """Return the command that draws it."""
        return shlex.join(["tare", "report", f"campaigns/{self.campaign}", *self.options])

    @property
    def file(self) -> str:
        """Return the name of the file that is kept, relative to the folder of the article."""
        return f"{DRAWN}/{self.name}.{'md' if self.figure == _VALUES else 'svg'}"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    charts: tuple[Counterpart, ...]


def read_counterparts(article: Article) -> tuple[Counterpart, ...]:
    """Return the charts and tables of an article. Raises ValueError if its file is wrong."""
    text = (FOLDER / article.key / FILE).read_text(encoding="utf-8")
    found = msgspec.convert(tomllib.loads(text), _File).charts
    studies = {study.name for study in article.studies}
    studies |= {path.stem for path in (FOLDER / article.key).glob("*.yaml")}
    if unknown := sorted({one.campaign for one in found if one.figure} - studies):
        raise ValueError(f"{article.key}: no study is called {', '.join(unknown)}")
    return found


def draw_charts(article: Article, campaigns: Path, folder: Path = FOLDER) -> None:
    """Draw the counterparts whose campaign in `campaigns` has no run left, into `folder`/ARTICLE/charts.

    Runs that failed or are invalid are not drawn; the page counts them.

    Raises UsageError if the report has no such chart, or if it is too large.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Counterpart]] = {}
    for one in read_counterparts(article):
        if one.figure:
            groups.setdefault((one.campaign, one.options), []).append(one)
    for (campaign, options), alike in groups.items():
        source = campaigns / campaign
        if is_campaign(source) and _is_over(account(read_campaign(source))):
            with tempfile.TemporaryDirectory(prefix="tare-articles-") as name:
                _report(source, options, Path(name))
                _keep(alike, Path(name), folder / article.key)


def _is_over(runs: Accounting) -> bool:
    return runs.n_done > 0 and not (
        runs.is_running or runs.counts[State.RUNNING] or runs.counts[State.PENDING]
    )


def _report(campaign: Path, options: Sequence[str], folder: Path) -> None:
    formats = ["--format", "html", "--format", "markdown"]
    command = [TARE, "report", str(campaign), *options, "--output", str(folder), *formats]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise UsageError(f"{shlex.join(command)}: {done.stderr.strip()}")


def _keep(counterparts: Collection[Counterpart], report: Path, folder: Path) -> None:
    """Copy charts and tables of a report to the folder of the article."""
    (folder / DRAWN).mkdir(exist_ok=True)
    for one in counterparts:
        text = _table_of(one, report) if one.figure == _VALUES else _chart_of(one, report)
        if len(text.encode()) > MOST_BYTES:
            raise UsageError(
                f"{one.command}: {one.figure} has {len(text.encode())} bytes; choose fewer figures"
            )
        (folder / one.file).write_text(text, encoding="utf-8")


def _chart_of(one: Counterpart, report: Path) -> str:
    path = report / "charts" / f"{one.figure}.svg"
    if not path.exists():
        names = ", ".join(sorted(each.stem for each in path.parent.glob("*.svg")))
        raise UsageError(f"{one.command}: the report has no chart {one.figure!r}; it has {names}")
    return path.read_text(encoding="utf-8")


def _table_of(one: Counterpart, report: Path) -> str:
    """Return the tables of values of a report's summary."""
    _, found, rest = (report / "summary.md").read_text(encoding="utf-8").partition(_VALUES_TITLE)
    if not found:
        raise UsageError(f"{one.command}: the report has no table of values")
    body = re.split(r"^### ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return f"{MADE}\n# {one.shows}\n\n`{one.command} --format markdown`\n{body.rstrip()}\n"


def charts_page(articles: Iterable[tuple[Article, Results]], folder: Path = FOLDER) -> str:
    """Return the page that lists the charts and tables of all articles, with their counterparts."""
    parts = [f"{MADE}\n# The charts and tables of the articles\n\n{_WHAT}"]
    for article, results in articles:
        rows = [_row(article, one, results, folder) for one in read_counterparts(article)]
        parts.append(f"## {article.publisher}: {article.title}\n\n{markdown_table(_HEAD, rows)}")
    return "\n".join(parts)


def _row(article: Article, one: Counterpart, results: Results, folder: Path) -> Sequence[str]:
    return [one.published, one.shows, f"`{one.command}`", _here(article, one, results, folder)]


def _here(article: Article, one: Counterpart, results: Results, folder: Path) -> str:
    if one.cannot:
        return f"– **not drawn here** because {one.cannot}"
    remark = f" {one.here}" if one.here else ""
    if not (folder / article.key / one.file).exists():
        return (
            f"… **not drawn yet**: there is no finished campaign of {one.campaign} on this machine.{remark}"
        )
    measured = next((each for each in results.campaigns if each.study == one.campaign), None)
    ran = f", {_counted(measured)} on {measured.date}" if measured else ""
    if one.figure == _VALUES:
        return f"[table]({article.key}/{one.file}){ran}.{remark}"
    return f"[![{one.shows}]({article.key}/{one.file})]({article.key}/{one.file}){ran}.{remark}"


def _counted(measured: Measured) -> str:
    """Return how many runs a chart may have: "45 runs", or "44 of 45 runs"."""
    of = "" if measured.n_done == measured.n_planned else f" of {measured.n_planned}"
    return f"{measured.n_done}{of} runs"
