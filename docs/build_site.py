"""Build the documentation site: `make docs`, or `python docs/build_site.py artefacts/site`.

The pages of docs/ link to files of the repository: studies, tests, sources. All that they reach is laid out
in a folder beside the site, so that every link leads somewhere within it. Zensical builds the site of that
folder, and fails at a dead link.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
DOCS = PurePosixPath("docs")
CONFIG = ROOT / "docs" / "zensical.toml"
WORKER = "assets/javascripts/iframe-worker.js"
"""The name by which Zensical knows that pages opened as files have a worker for the search."""

_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)#\s]+)((?:#[^)\s]*)?\))")
_FENCED = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
_SECOND_WORD = re.compile(r"( *```\w+) \w+$", re.MULTILINE)
"""What tests read behind a block's language; Python-Markdown takes no block with it for one."""
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".py": "python", ".toml": "toml", ".sh": "sh", ".json": "json"}
_PAGE_HEAD = "---\nsearch:\n  exclude: true\n---\n"


def pages() -> list[PurePosixPath]:
    """Return the pages of docs/, from the root of the repository."""
    return [PurePosixPath(path.relative_to(ROOT)) for path in sorted((ROOT / DOCS).rglob("*.md"))]


def place(path: PurePosixPath) -> PurePosixPath:
    """Return where the site has a file of the repository: docs/ is its root, and a source is a page."""
    target = path.relative_to(DOCS) if path.is_relative_to(DOCS) else path
    if (ROOT / path).is_dir():
        return target / "index.md"
    return target if path.suffix in {".md", ".png", ".svg"} else target.with_name(f"{path.name}.md")


def staged_text(path: PurePosixPath) -> tuple[str, list[PurePosixPath]]:
    """Return the page that the site has of `path`, and the files of the repository to which it links."""
    source = ROOT / path
    if source.is_dir():
        names = "".join(
            f"- `{one.name}`\n" for one in sorted(source.iterdir()) if not one.name.startswith("__")
        )
        return f"{_PAGE_HEAD}# {path}\n\n{names}", []
    text = source.read_text()
    if path.suffix == ".ipynb":
        return _notebook(text), []
    if path.suffix != ".md":
        fence = "`" * (1 + max((len(run) for run in re.findall("`{3,}", text)), default=3))
        return f"{_PAGE_HEAD}# {path}\n\n{fence}{_LANGUAGES.get(path.suffix, 'text')}\n{text}\n{fence}\n", []
    return _with_links_of_the_site(path, text)


def _notebook(text: str) -> str:
    """Return the cells of a notebook as a page, without what they printed."""
    parts = [("".join(cell["source"]), cell["cell_type"]) for cell in json.loads(text)["cells"]]
    return "\n\n".join(body if kind == "markdown" else f"```python\n{body}\n```" for body, kind in parts)


def _with_links_of_the_site(path: PurePosixPath, text: str) -> tuple[str, list[PurePosixPath]]:
    found: list[PurePosixPath] = []
    here = place(path).parent

    def moved(link: re.Match[str]) -> str:
        target = PurePosixPath(os.path.normpath(path.parent / link[2]))
        if target.parts[0] == ".." or not (ROOT / target).exists():
            return link[0]  # dead: Zensical names the page and the line
        found.append(target)
        return f"{link[1]}{os.path.relpath(place(target), here)}{link[3]}"

    parts, last = [], 0
    for block in _FENCED.finditer(text):
        parts += [_LINK.sub(moved, text[last : block.start()]), _SECOND_WORD.sub(r"\1", block[0], count=1)]
        last = block.end()
    parts.append(_LINK.sub(moved, text[last:]))
    return "".join(parts), found


def stage(folder: Path) -> None:
    """Write to `folder` the pages of docs/ and all that they reach, and the configuration of the site."""
    shutil.rmtree(folder, ignore_errors=True)
    waiting, done = list(pages()), set[PurePosixPath]()
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        target = folder / "docs" / place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in {".png", ".svg"}:
            shutil.copyfile(ROOT / path, target)
        else:
            text, links = staged_text(path)
            target.write_text(text)
            waiting += links
    shutil.copyfile(CONFIG, folder / CONFIG.name)


def let_files_search(site: Path) -> None:
    """Write the script that gives pages opened as files a worker for the search.

    Browsers start no worker from file://, but they start one from a blob. So the script holds the
    worker's source.
    """
    [worker] = (site / "assets/javascripts/workers").glob("search.*.js")
    (site / WORKER).write_text(
        'if (location.protocol === "file:") {\n'
        f"  const source = {json.dumps(worker.read_text())};\n"
        "  const Native = window.Worker;\n"
        "  window.Worker = class extends Native {\n"
        '    constructor() { super(URL.createObjectURL(new Blob([source], {type: "text/javascript"}))); }\n'
        "  };\n"
        "}\n"
    )


def outside_files(site: Path) -> Iterator[str]:
    """Yield each script, style, font, image or frame that a page of the site would load from elsewhere."""
    loaded = re.compile(
        r"""<(?:script|img|iframe|source|video|audio|link)\b[^>]*?\s(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)"""
        r"""|(?:url\(|@import\s)["']?((?:https?:)?//[^"')\s]+)"""
    )
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        text = re.sub(r"<code.*?</code>", "", path.read_text(), flags=re.DOTALL)
        for found in loaded.finditer(text):
            yield f"{path.relative_to(site)}: {found[1] or found[2]}"


def build(site: Path, zensical: Path) -> int:
    """Build the site in the folder `site`.

    Returns 0, or the exit code of Zensical, or 1 if a page would load something from elsewhere.
    """
    staged = site.with_name(f"{site.name}-source")
    stage(staged)
    shutil.rmtree(site, ignore_errors=True)
    command = [str(zensical), "build", "--clean", "--strict", "--config-file", str(staged / CONFIG.name)]
    done = subprocess.run(command, env={**os.environ, "NO_COLOR": "1"}, check=False)
    if done.returncode:
        return done.returncode
    (staged / "site").rename(site)
    (
        site / "404.html"
    ).unlink()  # for web servers; its links start at the root of one, and are dead anywhere else
    let_files_search(site)
    outside = list(outside_files(site))
    for one in outside:
        print(f"a page would load from elsewhere: {one}", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    ended = build(folder, Path(sys.executable).parent / "zensical")
    if not ended:
        print(folder / "index.html")
    sys.exit(ended)
