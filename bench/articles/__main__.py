"""Run the studies of the published articles, judge their claims, draw their charts, and write their pages."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from bench.articles.article import FOLDER, Article, keys, read_article
from bench.articles.charts import PAGE, charts_page, draw_charts
from bench.articles.judging import judge
from bench.articles.pages import FILE, index, page
from bench.articles.results import read_results, write_results
from bench.articles.running import missing, run
from tare.core.errors import UsageError, name_cure
from tare.storage.campaign import is_campaign
from tare.storage.pseudonymous import read_shown


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[ARTICLE]...")
@click.option(
    "--campaigns",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("campaigns"),
    show_default=True,
    help="The folder of the campaigns, one for each study.",
)
@click.option("--no-run", is_flag=True, help="Run nothing; judge the campaigns that are there.")
@click.option("--pages", "is_pages_only", is_flag=True, help="Only write the pages, from recorded results.")
@click.option("--list", "is_list", is_flag=True, help="List the studies, their minutes and missing programs.")
def main(names: tuple[str, ...], campaigns: Path, no_run: bool, is_pages_only: bool, is_list: bool) -> None:
    """Run the studies of the published articles, judge their claims, and write their pages.

    A campaign that is complete is not run again; one that was interrupted is continued. Exit code 1: a study
    was run and not all of its runs are done.

    \b
    Examples:
      python -m bench.articles
      python -m bench.articles --list
      python -m bench.articles stackhpc kniep-2016
      python -m bench.articles --no-run --campaigns /data/campaigns
    """
    articles = _chosen(names)
    if is_list:
        _list(articles)
        return
    status = 0
    if not (no_run or is_pages_only):
        studies = {study.name: (article, study) for article in articles for study in article.studies}
        for article, study in studies.values():
            status = max(status, run(article, study, campaigns))
    if not is_pages_only:
        for article in articles:
            judge_article(article, campaigns)
            draw_article(article, campaigns)
    write_pages()
    sys.exit(1 if status else 0)


def _chosen(names: Iterable[str]) -> list[Article]:
    there = keys()
    for name in names:
        if name not in there:
            raise click.UsageError(f"no article is called {name!r}; {name_cure(name, there)}")
    return [read_article(key) for key in (list(names) or there)]


def _list(articles: Iterable[Article]) -> None:
    studies = {study.name: study for article in articles for study in article.studies}
    for study in studies.values():
        lacks = f"  lacks {', '.join(lacking)}" if (lacking := missing(study)) else ""
        in_pods = "  in pods" if study.in_pods else "  in a cluster of containers" if study.in_cluster else ""
        click.echo(f"{study.minutes:5g} min  {study.name}{in_pods}{lacks}")
    click.echo(f"{sum(study.minutes for study in studies.values()):5g} min  together")


def judge_article(article: Article, campaigns: Path, folder: Path = FOLDER) -> None:
    """Judge the campaigns of an article that are there, and record the results in `folder`/ARTICLE."""
    folders = {study.name: campaigns / study.name for study in article.studies}
    measured = {name: read_shown(folder) for name, folder in folders.items() if is_campaign(folder)}
    if not measured:
        return
    try:
        found = judge(article, measured)
    except UsageError as error:
        raise click.ClickException(f"{article.key}: {error}") from error
    write_results(article.key, read_results(article.key, folder).updated(found), folder)


def draw_article(article: Article, campaigns: Path, folder: Path = FOLDER) -> None:
    """Draw the charts of an article from campaigns that are over into `folder`/ARTICLE, or print why not."""
    try:
        draw_charts(article, campaigns, folder)
    except UsageError as error:
        click.echo(f"{article.key}: a chart is not drawn: {error}", err=True)


def write_pages(folder: Path = FOLDER) -> None:
    """Write the pages of all articles and of their charts, and the one that lists them, from `folder`."""
    articles = [(article, read_results(article.key, folder)) for article in map(read_article, keys())]
    for article, results in articles:
        (folder / article.key / FILE).write_text(page(article, results), encoding="utf-8")
        click.echo(f"{folder / article.key / FILE}")
    (folder / PAGE).write_text(charts_page(articles, folder), encoding="utf-8")
    (folder / FILE).write_text(index(articles), encoding="utf-8")


if __name__ == "__main__":
    main()
