"""The documentation site: pages are in its navigation, links lead somewhere, nothing comes from elsewhere."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import build_site
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "studies").rglob("*.md")])
ZENSICAL = Path(sys.prefix) / "docs" / "bin" / "zensical"
_MARKDOWN = MarkdownIt("commonmark").enable("table")


def inline(page: Path) -> Iterator[tuple[Token, Token]]:
    """Yield each block with text of a page, and its opening token."""
    tokens = _MARKDOWN.parse(page.read_text())
    for opening, text in itertools.pairwise(tokens):
        if text.type == "inline":
            yield opening, text


def links(page: Path) -> Iterator[str]:
    for _, text in inline(page):
        for token in text.children or ():
            target = token.attrGet("href") or token.attrGet("src")
            if isinstance(target, str):
                yield target


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for opening, text in inline(page):
        if opening.type == "heading_open":
            words = "".join(one.content for one in text.children or () if one.type in {"text", "code_inline"})
            name = base = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = 0
            while name in found:
                count += 1
                name = f"{base}-{count}"
            found.add(name)
    return found


def dead_links(page: Path) -> Iterator[str]:
    for target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{target}: there is no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{target}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_anchor_leads_somewhere(page: Path) -> None:
    assert not list(dead_links(page))


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[one](#a-page) [two](#another) [three](missing.md) [four](page.md#b)\n")
    assert [one.partition(":")[0] for one in dead_links(page)] == ["#another", "missing.md", "page.md#b"]


def navigation(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for value in node.values():
            yield from [value] if isinstance(value, str) else navigation(value)
    elif isinstance(node, list):
        for item in node:
            yield from navigation(item)


def test_every_page_is_in_the_navigation_once() -> None:
    named = sorted(navigation(tomllib.loads(build_site.CONFIG.read_text())["project"]["nav"]))
    assert named == sorted(str(one.relative_to("docs")) for one in build_site.pages()), (
        "see docs/zensical.toml"
    )


def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<a href="https://one.org/">a link is none</a> <link rel="stylesheet" href="local.css">'
        '<script async src="https://two.org/x.js"></script><img alt="" src=//three.org/x.png>'
    )
    (tmp_path / "style.css").write_text("@font-face { src: url(https://four.org/x.woff2) }")
    assert list(build_site.outside_files(tmp_path)) == [
        "page.html: https://two.org/x.js",
        "page.html: //three.org/x.png",
        "style.css: https://four.org/x.woff2",
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built where no network is, if the kernel lets us have none."""
    if not ZENSICAL.exists():
        pytest.skip("Zensical is not here; run: make docs")
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [str(ZENSICAL.with_name("python")), str(DOCS / "build_site.py"), str(folder)]
    alone = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0:
        command = [*alone, *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built_and_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in build_site.pages():
        assert (site / build_site.place(page).with_suffix(".html")).exists()
    assert not list(build_site.outside_files(site))


class _Html(HTMLParser):
    """The addresses to which a page links, or which it loads, and the names of its parts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: set[str] = set()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.addresses |= {found[key] or "" for key in ("href", "src") if key in found}
        self.names.add(found.get("id") or "")


def test_every_link_of_the_built_site_leads_to_a_file_or_a_part_of_it(site: Path) -> None:
    """Notebooks and the frame around the pages have links, too."""
    pages = {path: _Html(path.read_text()) for path in site.rglob("*.html")}
    dead: list[str] = []
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            is_there = target.is_relative_to(site) and target.is_file()
            # Zensical's script makes the parts that begin with two underscores.
            is_named = target not in pages or unquote(parts.fragment) in {"", *pages[target].names}
            if not is_there or not (is_named or parts.fragment.startswith("__")):
                dead.append(f"{path.relative_to(site)}: {address}")
    assert pages
    assert dead == []


def test_the_site_has_the_tables_lists_and_blocks_that_the_pages_have(site: Path) -> None:
    """Zensical's Markdown is not GitHub's: a list without an empty line before it would be text."""
    for page in build_site.pages():
        tokens = _MARKDOWN.parse((ROOT / page).read_text())
        html = (site / build_site.place(page).with_suffix(".html")).read_text()
        [body] = re.findall(r"<article.*?</article>", html, re.DOTALL)
        for kind, tag in (("table_open", "table"), ("list_item_open", "li"), ("tr_open", "tr")):
            n_expected = sum(one.type == kind for one in tokens)
            assert len(re.findall(rf"<{tag}[ >]", body)) == n_expected, f"{page}: {tag}"
        n_blocks = sum(one.type in {"fence", "code_block"} for one in tokens)
        assert len(re.findall(r"<pre[ >]", body)) == n_blocks, f"{page}: blocks of code"
